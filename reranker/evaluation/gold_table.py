"""The table behind ``--gold``: F1 of the parser's first trees, the reranked ones and the oracle."""

from __future__ import annotations

from collections.abc import Iterable

from reranker.errors import InputError
from reranker.evaluation.alignment import shift
from reranker.evaluation.brackets import GoldTrees
from reranker.evaluation.corpus import Summary
from reranker.evaluation.sentence import SentenceScore
from reranker.files.table import aligned
from reranker.files.visible import shown_id
from reranker.nbest import NBest
from reranker.nbest.data import Order
from reranker.trees.treebank import TreeText

_NO_TREE = "(TOP )"
_INCOMPARABLE = "EVALB finds no list that has the words of its gold tree"

# The stand-ins for the parser's choice if its samples are unordered.
_SAMPLES: dict[Order, str] = {"score": "best score", "frequency": "most frequent"}


class GoldTable:
    """F1 of every list's first, best and oracle candidate, in order."""

    def __init__(self, gold: GoldTrees) -> None:
        self._gold = gold
        self._trees = iter(gold)
        self._orders: set[Order] = set()
        self._scores: dict[str, list[SentenceScore]] = {"parser": [], "reranked": [], "oracle": []}

    def check(self, lists: Iterable[NBest]) -> None:
        """Raise InputError if there are more or fewer gold trees than lists, or if EVALB can
        compare none of the lists with its gold tree."""
        gold, count, is_comparable = self._gold, 0, False
        firsts: list[TreeText] = []
        trees = iter(gold)
        for nbest in lists:
            count += 1
            tree = next(trees, None)
            if tree is None or is_comparable:
                continue
            is_comparable = any(tree.f1(each.tree) is not None for each in nbest.candidates)
            text = nbest.candidates[0].tree.to_string() if nbest.candidates else ""
            firsts.append(TreeText(nbest.candidates[0].file if text else "", nbest.line, text))
        if count != len(gold):
            raise InputError(f"{gold.name}: {len(gold)} gold trees for {count} n-best lists")
        if any(place.text for place in firsts) and not is_comparable:
            reason = f"{gold.name}: {_INCOMPARABLE}"
            raise InputError("; ".join([reason, *shift(gold.places, firsts)]))

    def add(self, nbest: NBest, best_index: int | None) -> None:
        """Match the list with the next gold tree, and record its best candidate; None if all were
        rejected. Raises InputError if there is no gold tree left."""
        gold = next(self._trees, None)
        if gold is None:
            number = 1 + len(self._scores["parser"])
            name = shown_id(nbest.id, number)
            raise InputError(f"{self._gold.name}: no gold tree for list {name}")
        self._orders.add(nbest.order)
        trees = {candidate.index: candidate.tree for candidate in nbest.candidates}
        oracle = list(trees.values())[gold.oracle(trees.values())] if trees else _NO_TREE
        chosen = {
            "parser": next(iter(trees.values()), _NO_TREE),
            "reranked": _NO_TREE if best_index is None else trees[best_index],
            "oracle": oracle,
        }
        for name, tree in chosen.items():
            self._scores[name].append(gold.score(tree))

    def check_complete(self) -> None:
        """Raise InputError if gold trees are left over or none could be compared."""
        if next(self._trees, None) is not None:
            raise InputError(f"{self._gold.name}: more gold trees than n-best lists")
        statuses = {score.status for score in self._scores["oracle"]}
        if statuses == {"error"}:
            raise InputError(f"{self._gold.name}: {_INCOMPARABLE}")

    def format(self) -> str:
        """Return a table: recall, precision, F1 and complete match in percent for parser, reranked
        and oracle."""
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
