"""A sentence's best tree beside the parser's first: what changed, and whether for the better."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reranker.drawing.marks import MarkedTree, printable
from reranker.drawing.terminal import draw
from reranker.errors import InputError, TreeError
from reranker.evaluation.brackets import GoldTree
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import SentenceScore
from reranker.trees.tree import Tree

_PARAMETERS = Parameters.collins()
_NO_TREE = "(TOP )"


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence with its best tree and, if that is another, the parser's first.

    ``best`` is None if no candidate could be used, ``first`` if it is ``best`` or not known.
    ``first_score`` and ``best_score`` are EVALB's, with a gold tree; equal if there is no other.
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
    """Candidates that could not be read."""

    def judged(self, line: str, gold_tags: bool) -> Change:
        """The same with the scores against the gold tree in ``line``; with ``gold_tags`` the trees
        get its part-of-speech tags. Raises InputError if the line is not a tree."""
        try:
            standard = GoldTree(line, _PARAMETERS, gold_tags)
            gold = Tree.from_string(line)
        except TreeError as error:
            raise InputError(f"not a gold tree: {error}: {line.strip()[:60]!r}") from error
        tags = gold.tags() if gold_tags else None
        best_score = standard.score(self.best or _NO_TREE)
        return replace(
            self,
            best=_tagged(self.best, tags),
            first=_tagged(self.first, tags),
            gold=gold,
            first_score=standard.score(self.first) if self.first else best_score,
            best_score=best_score,
        )

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``as good``; empty without gold tree or without two trees."""
        if self.first is None or self.first_score is None or self.best_score is None:
            return ""
        difference = self.best_score.f1 - self.first_score.f1
        return "better" if difference > 0 else "worse" if difference < 0 else "as good"

    def text(self) -> list[str]:
        """Lines with id, verdict and F1, the words, and the changed brackets: ``-`` before those of
        the parser's first tree, ``+`` before those of the best."""
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

    def drawing(self, width: int) -> list[str]:
        """The trees drawn for a terminal of ``width`` columns."""
        return draw(self.titled(), width)

    def titled(self) -> list[tuple[str, MarkedTree]]:
        """Titles and trees, the parser's first before the best."""
        titles = ["parser's first", self.title] if self.first else [self.title]
        return list(zip(titles, self._marked(), strict=True)) if self.best else []

    def _marked(self) -> list[MarkedTree]:
        if self.best is None:
            return []
        # EVALB leaves some pairs out: nothing is right or wrong there.
        gold = self.gold if self.best_score and self.best_score.status == "valid" else None
        best = MarkedTree.compare(self.best, self.first, gold, _PARAMETERS)
        if self.first is None:
            return [best]
        return [MarkedTree.compare(self.first, self.best, gold, _PARAMETERS), best]

    def _heading(self) -> str:
        if self.best_score is None:
            return self.title
        if self.best_score.status != "valid":
            return f"{self.title}, not scored: {self.best_score.reason}"
        if self.first is None or self.first_score is None:
            return f"{self.title}, F1 {self.best_score.f1:.2f}"
        figures = f"F1 {self.first_score.f1:.2f} -> {self.best_score.f1:.2f}"
        return f"{self.title}, {self.verdict}: {figures}"


def _tagged(tree: Tree | None, tags: list[str] | None) -> Tree | None:
    if tree is None or tags is None or len(tree.tags()) != len(tags):
        return tree
    return tree.with_tags(tags)
