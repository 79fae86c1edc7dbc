"""The table behind ``--gold``: F1 of the parser's first trees, the reranked ones and the oracle."""

from __future__ import annotations

from collections import deque

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTree, gold_trees
from reranker.evaluation.corpus import Summary
from reranker.evaluation.sentence import SentenceScore
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.nbest import NBest
from reranker.nbest.data import Order
from reranker.trees.tree import Tree

_NO_TREE = "(TOP )"

# What stands for the parser's choice where its samples come in no order.
_SAMPLES: dict[Order, str] = {"score": "best score", "frequency": "most frequent"}


class GoldTable:
    """Takes every list and then its best candidate, in order."""

    def __init__(self, path: str, gold_tags: bool) -> None:
        """``gold_tags``: give every candidate the gold part-of-speech tags first."""
        self.path = path
        self._gold = gold_trees(read_lines(path), path, gold_tags)
        self._waiting: deque[tuple[GoldTree, dict[int, Tree], Tree | str]] = deque()
        self._orders: set[Order] = set()
        self._scores: dict[str, list[SentenceScore]] = {"parser": [], "reranked": [], "oracle": []}

    def add_list(self, nbest: NBest) -> None:
        """Take the next gold tree for this list. Raises InputError if there is none, or if it or
        the file cannot be read."""
        gold = next(self._gold, None)
        if gold is None:
            raise InputError(
                f"{self.path}: no gold tree for list {nbest.id}: the file is too short"
            )
        self._orders.add(nbest.order)
        trees = {candidate.index: candidate.tree for candidate in nbest.candidates}
        oracle = list(trees.values())[gold.oracle(trees.values())] if trees else _NO_TREE
        self._waiting.append((gold, trees, oracle))

    def add_choice(self, best_index: int | None) -> None:
        """Record the best candidate of the earliest list without one; None: all were rejected."""
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
        """A table: recall, precision, F1 and complete match in percent for parser, reranked and
        oracle."""
        rows: list[tuple[str, ...]] = [
            ("", "recall", "precision", "F1", "complete", "scored", "errors")
        ]
        for name, scores in self._scores.items():
            summary = Summary.of(scores)
            rates = (summary.recall, summary.precision, summary.f1, summary.complete_match)
            counts = str(summary.valid), str(summary.errors)
            if name == "parser" and self._orders & {*_SAMPLES}:
                why = " or ".join(_SAMPLES[order] for order in _SAMPLES if order in self._orders)
                name = f"parser's samples, {why}"
            rows.append((name, *(f"{rate:.2f}" for rate in rates), *counts))
        return aligned(rows)
