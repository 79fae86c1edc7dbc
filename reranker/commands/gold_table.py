"""The table behind ``--gold``: F1 of the parser's first trees, the reranked ones and the oracle."""

from __future__ import annotations

from collections import deque

from reranker.errors import InputError, TreeError
from reranker.evaluation.corpus import Gold, Parameters, SentenceScore, Summary, with_top_root
from reranker.files.text import read_lines
from reranker.nbest import NBest
from reranker.trees.tree import Tree

_ROWS = ("parser", "reranked", "oracle")
_NO_TREE = "(TOP )"


class GoldTable:
    """Feed it every list and then its best candidate, in order.

    Roots are made alike (TOP) before scoring.
    """

    def __init__(self, path: str, gold_tags: bool) -> None:
        """Raises InputError if ``path`` cannot be read."""
        self.path, self.gold_tags = path, gold_tags
        self.parameters = Parameters.collins()
        self._gold = read_lines(path)
        self._waiting: deque[tuple[Gold, dict[int, str], str]] = deque()
        self._scores: dict[str, list[SentenceScore]] = {name: [] for name in _ROWS}

    def add_list(self, nbest: NBest) -> None:
        """Take the next gold tree for this list. Raises InputError if there is none."""
        line = next(self._gold, None)
        if line is None:
            raise InputError(
                f"{self.path}: no gold tree for list {nbest.id}: the file is too short"
            )
        tags: list[str] | None = None
        if self.gold_tags:
            try:
                tags = Tree.from_string(line).tags()
            except TreeError as error:
                raise InputError(f"{self.path}: gold tree for list {nbest.id}: {error}") from error
        gold = Gold(with_top_root(line), self.parameters)
        trees = {}
        for candidate in nbest.candidates:
            tree = candidate.tree
            if tags is not None and len(tags) == len(tree.tags()):
                tree = tree.with_tags(tags)
            trees[candidate.index] = with_top_root(tree.to_string())
        oracle = list(trees.values())[gold.oracle(trees.values())] if trees else _NO_TREE
        self._waiting.append((gold, trees, oracle))

    def add_choice(self, best_index: int | None) -> None:
        """Score the list that was added longest ago, its best candidate now known."""
        gold, trees, oracle = self._waiting.popleft()
        chosen = {
            "parser": next(iter(trees.values()), _NO_TREE),
            "reranked": _NO_TREE if best_index is None else trees[best_index],
            "oracle": oracle,
        }
        for name, tree in chosen.items():
            self._scores[name].append(gold.score(tree))

    def check_complete(self) -> None:
        """Raises InputError if gold trees are left over."""
        if next(self._gold, None) is not None:
            raise InputError(f"{self.path}: more gold trees than n-best lists")

    def format(self) -> str:
        """Recall, precision, F1 and more for parser, reranked and oracle, one row each."""
        names = ("recall", "precision", "F1", "complete", "scored", "errors")
        rows = [" " * 9 + "".join(f"{name:>10}" for name in names)]
        for name in _ROWS:
            summary = Summary.of(self._scores[name])
            rows.append(
                f"{name:9}{summary.recall:10.2f}{summary.precision:10.2f}{summary.f1:10.2f}"
                f"{summary.complete_match:10.2f}{summary.valid:10d}{summary.errors:10d}"
            )
        return "\n".join(rows)
