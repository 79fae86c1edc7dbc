"""A sentence's best tree beside the parser's first: which brackets differ, and which are right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from reranker.evaluation.brackets import GoldTree
from reranker.evaluation.lines import read_line
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import SentenceScore
from reranker.files.opening import text_digest
from reranker.trees.constituents import brackets
from reranker.trees.linearize import FUNCTION_TAG
from reranker.trees.marks import Mark, MarkedTree, printable
from reranker.trees.tree import ROOT_LABELS, Tree

_PARAMETERS = Parameters.collins()
_NO_TREE = "(TOP )"


def compare(
    tree: Tree, other: Tree | None, gold: Tree | None, parameters: Parameters
) -> MarkedTree:
    """Mark brackets missing from ``other`` as changed, and those in ``gold`` as right, counted
    as EVALB does: of two equal brackets the second is right only if gold has two."""
    in_other = _matched(_plain_keys(tree), None if other is None else _plain_keys(other))
    gold_keys = None if gold is None else _evalb_keys(gold, parameters)
    in_gold = _matched(_evalb_keys(tree, parameters), gold_keys)
    nodes = [bracket.node for bracket in brackets(tree)]
    return MarkedTree(
        tree,
        {
            id(node): Mark(kept is False, is_right)
            for node, kept, is_right in zip(nodes, in_other, in_gold, strict=True)
        },
    )


_Key = tuple[int, int, str] | None  # None: a bracket that does not count


def _plain_keys(tree: Tree) -> list[_Key]:
    """Return the span and label of each bracket, without roots and function tags."""
    return [
        (start, end, FUNCTION_TAG.sub("", node.label))
        if node is not tree or node.label not in ROOT_LABELS
        else None
        for node, start, end in brackets(tree)
    ]


def _evalb_keys(tree: Tree, parameters: Parameters) -> list[_Key]:
    """Return the brackets that EVALB counts, without the words and labels that EVALB deletes."""
    nodes = brackets(tree)
    as_read = read_line(tree.to_string(), parameters).brackets
    if len(as_read) != len(nodes):  # brackets within words, which EVALB takes for constituents
        return [None] * len(nodes)
    keys: list[_Key] = []
    for (node, _, _), (start, end, _) in zip(nodes, as_read, strict=True):
        label = parameters.bracket_label(node.label)
        is_root = node is tree and node.label in ROOT_LABELS
        counts = label is not None and not is_root and start < end
        keys.append((start, end, label or "") if counts else None)
    return keys


def _matched(keys: list[_Key], others: list[_Key] | None) -> list[bool | None]:
    """Return for each key whether ``others`` contain it as often; None for keys that do not count,
    and for all if there are no ``others``."""
    left = Counter(others)
    matched: list[bool | None] = []
    for key in keys:
        counts = key is not None and others is not None
        matched.append(left[key] > 0 if counts else None)
        left[key] -= 1
    return matched


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence with its best tree and, if that is a different one, the parser's first.

    ``best`` is None if no candidate could be used, ``first`` if it is ``best`` or not known.
    With a gold tree, ``first_score`` and ``best_score`` are EVALB's; without ``first`` they are the
    same.
    """

    id: str
    title: str
    best: Tree | None
    first: Tree | None = None
    gold: Tree | None = None
    first_score: SentenceScore | None = None
    best_score: SentenceScore | None = None
    is_new: bool = True
    """False if ``best`` is known to be the parser's first."""
    problems: int = 0
    """The number of candidates that could not be read."""

    def digest(self) -> str:
        """Return a digest of the sentence's trees."""
        trees = (tree.to_string() for tree in (self.first, self.best) if tree)
        return text_digest(self.id, *trees)

    def judged(self, gold: GoldTree) -> Change:
        """Return the change with scores against the gold tree, and with its tags if ``gold`` gives
        its tags to trees."""
        best_score = gold.score(self.best or _NO_TREE)
        return replace(
            self,
            best=self.best and gold.tagged(self.best),
            first=self.first and gold.tagged(self.first),
            gold=gold.tree,
            first_score=gold.score(self.first) if self.first else best_score,
            best_score=best_score,
        )

    @property
    def verdict(self) -> str:
        """Return ``better``, ``worse`` or ``equal``; empty without a gold tree or without two
        trees."""
        if self.first is None or self.first_score is None or self.best_score is None:
            return ""
        difference = self.best_score.f1 - self.first_score.f1
        return "better" if difference > 0 else "worse" if difference < 0 else "equal"

    def text(self) -> list[str]:
        """Return lines with id, verdict and F1, the words, and the changed brackets: ``-`` before
        those of the parser's first tree, ``+`` before those of the best."""
        if self.best is None:
            return [f"{printable(self.id)}: no usable candidate"]
        lines = [f"{printable(self.id)}: {self._heading()}"]
        lines.append("  " + " ".join(map(printable, self.best.leaves())))
        for sign, marked in zip("-+", self._marked(), strict=False):
            for mark, label, words in marked.changed():
                right = {None: "", True: "✓", False: "✗"}[mark.is_right]
                lines.append(f"  {sign} {label}{right} {words}")
        if self.first is not None and len(lines) == 2:
            lines.append("  the same brackets; only part-of-speech tags differ")
        return lines

    def titled(self) -> list[tuple[str, MarkedTree]]:
        """Return titles and trees, the parser's first before the best."""
        titles = ["parser's first", self.title] if self.first else [self.title]
        return list(zip(titles, self._marked(), strict=True)) if self.best else []

    def _marked(self) -> list[MarkedTree]:
        if self.best is None:
            return []
        # EVALB leaves some pairs out: nothing is right or wrong there.
        gold = self.gold if self.best_score and self.best_score.status == "valid" else None
        best = compare(self.best, self.first, gold, _PARAMETERS)
        if self.first is None:
            return [best]
        return [compare(self.first, self.best, gold, _PARAMETERS), best]

    def _heading(self) -> str:
        if self.best_score is None:
            return self.title
        if self.best_score.status != "valid":
            return f"{self.title}, not scored: {self.best_score.reason}"
        if self.first is None or self.first_score is None:
            return f"{self.title}, F1 {self.best_score.f1:.2f}"
        figures = f"F1 {self.first_score.f1:.2f} -> {self.best_score.f1:.2f}"
        return f"{self.title}, {self.verdict}: {figures}"
