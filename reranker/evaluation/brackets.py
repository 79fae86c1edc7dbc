"""What corpus F1 is made of: the brackets of a tree against its gold tree, as EVALB counts them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.errors import InputError, TreeError
from reranker.evaluation.corpus import Gold, Parameters, SentenceScore, with_top_root
from reranker.trees.tree import Tree


class GoldTree:
    """A gold tree, for any number of trees to be counted against it; all roots are made alike."""

    def __init__(self, line: str, parameters: Parameters, gold_tags: bool) -> None:
        """With ``gold_tags`` every tree gets the gold part-of-speech tags first, if it has as many
        words. Raises InputError if the line then is no tree."""
        self._gold = Gold(with_top_root(line), parameters)
        self._tags: list[str] | None = None
        if gold_tags:
            try:
                self._tags = Tree.from_string(line).tags()
            except TreeError as error:
                raise InputError(f"not a gold tree: {error}: {line.strip()[:60]!r}") from error

    def score(self, line: str) -> SentenceScore:
        """EVALB's figures of a tree; all 0 if EVALB leaves it out (``skip`` or ``error``)."""
        return self._gold.score(with_top_root(self._tagged(line)))

    def counts(self, line: str) -> tuple[int, int, int]:
        """Matched, gold and test brackets of ``score``."""
        score = self.score(line)
        return score.matched, score.gold, score.test

    def _tagged(self, line: str) -> str:
        if self._tags is None:
            return line
        try:
            tree = Tree.from_string(line)
        except TreeError:  # EVALB says what is wrong with it
            return line
        return tree.with_tags(self._tags).to_string() if _words(tree) == len(self._tags) else line


def corpus_f1(counts: NDArray[np.int64]) -> float:
    """Percent, of [S, 3] counts: brackets are summed first, as EVALB does."""
    matched, gold, test = counts.sum(0).tolist()
    return 200 * matched / (gold + test) if gold + test else 0.0


def _words(tree: Tree) -> int:
    return len(tree.tags())
