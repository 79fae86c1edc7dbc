"""The clauses of a tree, by the labels of English treebanks; docs/clauses.md has the definitions.

Kinds follow from labels, tags and words alone, so that trees of parsers and of treebanks, with
function tags or without, are treated alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from reranker.errors import TreeError
from reranker.outputs.upos import upos
from reranker.trees.linearize import cleaned
from reranker.trees.patterns.table import Table
from reranker.trees.tree import Tree

LABELS = ("S", "SBAR", "SINV", "SQ", "SBARQ")
Range = tuple[int, int]  # half-open
Probabilities = Mapping[tuple[int, int, str], float]  # of brackets
Place = TypeVar("Place")
Other = TypeVar("Other")

_FINITE = ("MD", "VBD", "VBP", "VBZ")
_VERBS = (*_FINITE, "TO", "VB", "VBG", "VBN")
_NOUNS = ("NP", "NX", "WHNP")
_NOMINAL = (*_NOUNS, "NAC", "NML", "QP")
_ASKING = re.compile(  # before questions: "know when", "see if"
    r"ask|check|decid|determin|doubt|explain|f[io]u?nd|kn[eo]w|remember|saw|see|sure|t[eo]l|wonder"
)


KINDS = ("main", "coordinate", "complement", "relative", "adverbial", "parenthetical")


class Clause(NamedTuple, Generic[Place]):
    """A clause; its places are ranges of words, counted from 0, or of characters, or others."""

    kind: str
    """One of ``KINDS``."""
    labels: str
    """The brackets of ``LABELS`` around exactly its words, outermost first: ``SBAR S``."""
    finite: bool
    span: Place
    own: tuple[Place, ...]
    """The clause's words without the clauses in it."""
    subject: Place | None
    predicate: tuple[Place, ...]
    """The verb phrase with all its words; in questions the verb before the subject, and the rest
    behind it. Empty for a coordination of clauses."""
    parent: int | None
    """The number of the clause around it, from 0."""
    probability: float | None = None
    """The probability that exactly these words are a clause; None if trees have no
    probabilities."""


def placed(
    clause: Clause[Range], place: Callable[[Range], Other], known: Probabilities | None
) -> Clause[Other]:
    """Return the clause with other places than words, and with its probability. Brackets around the
    same words are one clause, so this is the sum of the probabilities of its brackets over
    ``LABELS``, divided by the number of its ``labels``, and no less than the greatest of them."""
    own, predicate = (tuple(map(place, each)) for each in (clause.own, clause.predicate))
    subject = None if clause.subject is None else place(clause.subject)
    probability = None
    if known is not None:
        found = [known.get((*clause.span, label), 0.0) for label in LABELS]
        probability = round(min(1.0, max(sum(found) / len(clause.labels.split()), *found)), 4)
    kind, labels, finite, span, *_, parent, _ = clause
    return Clause(kind, labels, finite, place(span), own, subject, predicate, parent, probability)


def clauses(tree: Tree) -> list[Clause[Range]]:
    """Return the clauses of a sentence, outer ones before those in them, left to right.

    Raises TreeError: ``empty`` without words, ``not-a-tree`` for flat trees and for other tags than
    the Penn Treebank's.

    >>> tree = "(S (NP (PRP We)) (VP (VBP say) (SBAR (S (NP (PRP it)) (VP (VBZ runs))))))"
    >>> for each in clauses(Tree.from_string(tree)):
    ...     print(each.kind, each.span, each.own, each.subject, each.predicate)
    main (0, 4) ((0, 2),) (0, 1) ((1, 4),)
    complement (2, 4) ((2, 4),) (2, 3) ((3, 4),)
    """
    tree = cleaned(tree)
    tags = [upos(tag) for tag in tree.tags()]
    if 2 * sum(tag not in (None, "X") for tag in tags) < len(tags):
        raise TreeError("not-a-tree", "its words have no tags of the Penn Treebank")
    phrases = [node.label for node in tree.preorder() if not node.is_preterminal][1:]
    if set(phrases) <= {*LABELS} and sum(tag not in ("PUNCT", "SYM") for tag in tags) > 1:
        raise TreeError("not-a-tree", "a flat tree")
    return list(_Sentence(tree).clauses())


class _Sentence:
    """A tree, whose nodes are numbers."""

    def __init__(self, tree: Tree) -> None:
        table = Table(tree)
        self.span, self.parent, self.children = table.span, table.parent, table.children
        self.words = tree.leaves()
        self.labels, self.tags = [""] * len(table.nodes), [""] * len(table.nodes)
        for number, node in enumerate(table.nodes):
            if isinstance(node, Tree):
                (self.tags if node.is_preterminal else self.labels)[number] = node.label

    def clauses(self) -> Iterator[Clause[Range]]:
        """Yield the clauses in preorder."""
        place_of: dict[int, int] = {}  # of each clause node
        nodes: list[list[int]] = []  # of each clause, outermost first
        inside: list[list[Range]] = []  # of each clause, the clauses right in it
        for node in (number for number, label in enumerate(self.labels) if label in LABELS):
            above = self._above(node)
            if above >= 0 and (self._body(above) == node or self.span(node) == self.span(above)):
                place_of[node] = place_of[above]
                nodes[place_of[node]].append(node)
                continue
            place_of[node] = len(nodes)
            nodes.append([node])
            inside.append([])
            if above >= 0:
                inside[place_of[above]].append(self.span(node))
        for some, within in zip(nodes, inside, strict=True):
            head, whole, kind = some[0], self.span(some[0]), self._kind(some[0])
            labels = " ".join(self.labels[node] for node in some if self.span(node) == whole)
            subject, predicate = self._parts(head)
            finite, own = self._is_finite(head, kind, subject), tuple(_without(whole, within))
            parent = place_of.get(self._above(head))
            yield Clause(kind, labels, finite, whole, own, subject, predicate, parent)

    def _above(self, node: int) -> int:
        """Return the clause node around a node, or -1."""
        node = self.parent[node]
        while node >= 0 and self.labels[node] not in LABELS:
            node = self.parent[node]
        return node

    def _inner(self, node: int) -> list[int]:
        """Return the clauses right below a node."""
        return [child for child in self.children[node] if self.labels[child] in LABELS]

    def _body(self, node: int) -> int | None:
        """Return the only clause right below SBAR or SBARQ, or the only child of a clause."""
        inner = self._inner(node)
        is_part = self.labels[node] in ("SBAR", "SBARQ") or len(self.children[node]) == 1
        return inner[0] if is_part and len(inner) == 1 else None

    def _core(self, node: int) -> int:
        """Return the node whose children are subject and predicate."""
        while (body := self._body(node)) is not None:
            node = body
        return node

    def _verbs(self, node: int) -> list[int]:
        """Return the verbs and verb phrases right below a node."""
        children = self.children[node]
        return [each for each in children if self.labels[each] == "VP" or self.tags[each] in _VERBS]

    def _is_coordination(self, node: int) -> bool:
        """Tell whether a node is a clause of clauses, without a subject or verb of its own."""
        return self.labels[node] in LABELS and len(self._inner(node)) > 1 and not self._verbs(node)

    def _parts(self, head: int) -> tuple[Range | None, tuple[Range, ...]]:
        """Return subject and predicate."""
        core = self._core(head)
        verbs, subject = self._verbs(core), None
        phrases = [child for child in self.children[core] if self.labels[child]]
        parts = [each for each in phrases if self.labels[each] not in ("ADVP", "PP", "PRN")]
        predicate = verbs
        if self._is_coordination(core):
            return None, ()
        if not verbs:  # a small clause
            subject, predicate = parts[0] if len(parts) > 1 else None, phrases[-1:]
        else:
            nouns = [each for each in parts if self.labels[each] in _NOUNS]
            before = [each for each in parts if each < verbs[0]]
            behind = [each for each in nouns if each > verbs[0]]
            if self.labels[core] in ("SINV", "SQ") and behind:
                subject = behind[0]
            elif nouns and nouns[0] < verbs[0]:
                subject = max(each for each in nouns if each < verbs[0])
            elif before and self.labels[before[-1]] in LABELS:  # *What he said* is true
                subject = before[-1]
            elif self._opening(head) == "who":  # *who* came
                subject = next((n for n in range(head + 1, core) if self.labels[n]), None)
            if self.labels[verbs[0]] != "VP" and len(verbs) == 1:  # Is it *so*?
                predicate = [*verbs, *[each for each in phrases if each > (subject or core)][:1]]
        return None if subject is None else self.span(subject), tuple(map(self.span, predicate))

    def _is_finite(self, head: int, kind: str, subject: Range | None) -> bool:
        tag = self._first_verb(self._core(head))
        if tag == "VB" and subject is None:  # an imperative
            is_said = kind == "complement" and self.labels[self.parent[head]] in LABELS
            return is_said or kind in ("main", "coordinate", "parenthetical")
        return tag in _FINITE or (tag == "VB" and self._opening(head) == "that")  # a subjunctive

    def _first_verb(self, node: int) -> str:
        """Return the tag of the first verb of a clause, or of its first clause; "" without any."""
        while not self.tags[node]:
            below = self._verbs(node) or self._inner(node)
            if not below:
                return ""
            node = below[0]
        return self.tags[node]

    def _opening(self, node: int) -> str:
        """Return how a clause begins: ``""`` with nothing before its body, ``who`` with a pronoun,
        ``when`` or ``if``, which may also ask, ``that`` or ``because``."""
        before = range(node, self._core(node))
        words = [(self.tags[n], self._word(n)) for n in before if self.tags[n]]
        asking = next((word for tag, word in words if tag in ("WDT", "WP", "WP$", "WRB")), "")
        if asking or any(self.labels[n].startswith("WH") for n in before):
            return "when" if asking.startswith(("when", "where")) else "who"
        first = next((word for tag, word in words if tag in ("IN", "DT")), "")
        if first in ("that", "whether", "for"):
            return "that"
        return first if first == "if" or not words else "because"

    def _kind(self, node: int) -> str:
        parent = self.parent[node]
        label, before = self.labels[parent], self._word(node, -1)
        if self._is_coordination(parent):
            return "coordinate"
        if label == "PRN":
            return "parenthetical"
        if self.labels[node] != "SBAR":
            return self._kind_of_s(node, parent, is_apart=before == ",")
        opening = self._opening(node)
        is_behind_noun = label in _NOMINAL and self.children[parent][0] != node
        is_apart = before == "," and opening == "who" and self._word(node).startswith("wh")
        if is_apart or (is_behind_noun and opening in ("", "who", "when")):
            return "relative"
        is_question = opening in ("if", "when") and (_ASKING.match(before) or label == "PP")
        if opening in ("because", "if", "when") and not is_question:
            return "adverbial" if parent else "main"
        return "complement" if parent or opening == "who" else "main"

    def _kind_of_s(self, node: int, parent: int, *, is_apart: bool) -> str:
        """Return the kind of a clause that no word introduces."""
        label = self.labels[parent]
        if label in (*_NOMINAL, "ADJP", "PP", "WHPP", "SBAR"):
            return "complement"
        tag = self._first_verb(self._core(node))
        is_finite = tag in _FINITE
        if label == "VP":
            return "adverbial" if is_apart and not is_finite else "complement"
        if label not in LABELS:
            return "main"
        is_subject = self._parts(parent)[0] == self.span(node)
        is_said = is_finite or tag == "VB"  # "Stop," she said.
        if is_subject or (is_said and node < max(self._verbs(parent), default=0)):
            return "complement"
        return "parenthetical" if is_finite else "adverbial"

    def _word(self, node: int, step: int = 0) -> str:
        """Return the first word below a node, or the word at this distance from it."""
        place = self.span(node)[0] + step
        return self.words[place].lower() if place >= 0 else ""


def _without(whole: Range, parts: list[Range]) -> Iterator[Range]:
    """Yield the rest of a range without these parts, which do not overlap, left to right."""
    start, end = whole
    for first, last in parts:
        if start < first:
            yield start, first
        start = last
    if start < end:
        yield start, end
