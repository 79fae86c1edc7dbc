"""``ParsedSentence``: a tree aligned with its text, and its constituents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.nbest.data import Certainty, Origin
from reranker.nbest.words import same_word
from reranker.trees.constituents import brackets
from reranker.trees.tree import ROOT_LABELS, TRACE, Tree, short_repr

PROBABILITY_DECIMALS = 4


@dataclass(frozen=True, slots=True, repr=False)
class ParsedWord:
    """A leaf of the tree, and the characters that it stands for."""

    leaf: str
    """The word as in the tree: ``-LRB-``."""
    form: str
    """The word as in the text: ``(``; the leaf if the text is unknown or cannot be written."""
    tag: str | None
    """The part of speech; None if the leaf has no part-of-speech node."""
    start: int | None = None
    """The position of the word's first character in the file; None if the text is not known."""
    end: int | None = None
    """The position after the word's last character."""

    def __repr__(self) -> str:
        return short_repr(self)


class Constituent(NamedTuple):
    """A bracket of a tree, other than a part of speech."""

    label: str
    start: int
    """The number of the constituent's first word, from 0."""
    end: int
    """The number of the word after the constituent's last."""
    probability: float | None
    """P(bracket | the sentence's words). None for the root, and if the parser gives no
    probabilities."""
    text: str
    """The words as written in the text, or joined by spaces if the text is not known."""
    offsets: tuple[int, int] | None
    """The half-open span of characters in the text; None if the text is not known."""
    parent: int | None
    """The place of the enclosing constituent in the list; None for the outermost."""

    @property
    def start_char(self) -> int | None:
        """Return the position of the first character in the text; None if that is not known."""
        return self.offsets[0] if self.offsets else None

    @property
    def end_char(self) -> int | None:
        """Return the position behind the last character; None if the text is not known."""
        return self.offsets[1] if self.offsets else None

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True, repr=False)
class ParsedSentence:
    """A sentence with a tree, in which traces and empty constituents are left out."""

    id: str
    tree: Tree | None
    """The tree; None if nothing is known about the sentence, not even its words."""
    score: float | None = None
    """The tree's score, as in ``Ranked``; None for a fallback."""
    origin: Origin | None = None
    confidence: float | None = None
    better_than_first: float | None = None
    """The probability, and ``confidence``, as in ``Ranking``."""
    certainty: Certainty | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    @cached_property
    def words(self) -> tuple[ParsedWord, ...]:
        """Return the words of the tree, left to right."""
        if self.tree is None:
            return ()
        leaves = _leaves(self.tree)
        origin = self.origin
        if origin is None or len(origin.offsets) != len(leaves):
            return tuple(ParsedWord(leaf, leaf, tag) for leaf, tag in leaves)
        first = origin.offsets[0][0]
        words = []
        for (leaf, tag), (start, end) in zip(leaves, origin.offsets, strict=True):
            written = origin.text[start - first : end - first]
            form = written if same_word(written, leaf) else leaf
            words.append(ParsedWord(leaf, form, tag, start, end))
        return tuple(words)

    @cached_property
    def constituents(self) -> tuple[Constituent, ...]:
        """Return the brackets of the tree, parents before children, left to right."""
        if self.tree is None:
            return ()
        words = self.words
        constituents: list[Constituent] = []
        enclosing: list[int] = []  # places of the open constituents
        for node, start, end in brackets(self.tree):
            # A constituent with the same words as the previous one is its child.
            while enclosing and constituents[enclosing[-1]].end <= start:
                enclosing.pop()
            first, last = words[start].start, words[end - 1].end
            constituents.append(
                Constituent(
                    node.label,
                    start,
                    end,
                    self._probability(start, end, node.label),
                    self.text_of(start, end),
                    None if first is None or last is None else (first, last),
                    enclosing[-1] if enclosing else None,
                )
            )
            enclosing.append(len(constituents) - 1)
        return tuple(constituents)

    def _probability(self, start: int, end: int, label: str) -> float | None:
        if self.certainty is None or label in ROOT_LABELS:
            return None
        probability = self.certainty.probabilities.get((start, end, label), 0.0)
        return round(probability, PROBABILITY_DECIMALS)

    def text_of(self, start: int, end: int) -> str:
        """Return some of the words as written in the text, or joined by spaces if the text is not
        known."""
        first, last = self.words[start], self.words[end - 1]
        if self.origin is None or first.start is None or last.end is None:
            return " ".join(word.form for word in self.words[start:end])
        begin = self.origin.offsets[0][0]
        return self.origin.text[first.start - begin : last.end - begin]

    @property
    def text(self) -> str:
        """Return the sentence as written, or its words joined by spaces if the text is not
        known."""
        if self.origin is not None and self.origin.text:
            return self.origin.text
        return " ".join(word.form for word in self.words)


def with_words_only(tree: Tree) -> Tree:
    """Return the tree without traces and constituents without words. Raises TreeError (``empty``)
    if nothing is left.

    >>> with_words_only(Tree.from_string("(S (NP (-NONE- *)) (VP (VB Run)) (X ))"))
    Tree.from_string('(S (VP (VB Run)))')
    """
    nodes = list(tree.preorder())
    if all(node.children and node.label != TRACE for node in nodes):
        return tree
    kept: dict[int, Tree | None] = {}
    for node in reversed(nodes):  # children before their parents
        children = (child if isinstance(child, str) else kept[id(child)] for child in node.children)
        words = tuple(child for child in children if child is not None)
        kept[id(node)] = Tree(node.label, words) if words and not node.is_trace else None
    pruned = kept[id(tree)]
    if pruned is None:
        raise TreeError("empty", "the tree has no words except traces")
    return pruned


def _leaves(tree: Tree) -> list[tuple[str, str | None]]:
    """Return each word with its tag, left to right."""
    leaves: list[tuple[str, str | None]] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            leaves.append((node, None))
        elif node.is_preterminal:
            leaves.append((str(node.children[0]), node.label))
        else:
            stack.extend(reversed(node.children))
    return leaves
