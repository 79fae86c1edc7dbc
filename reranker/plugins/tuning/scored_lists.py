"""Scored lists as arrays: every candidate's log-probabilities and brackets.

The scores come from ``rerank --output ranked``, so that any number of weights costs a single
scoring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTree, GoldTrees, f1_by_row
from reranker.outputs.ranked_file import distinct_indexes, read_sentence, reading_sentence
from reranker.ranking import SCORE_DECIMALS, Weighing

Array = NDArray[np.float64]


class _ScoredList(NamedTuple):
    members: list[list[float]]
    parser: list[float | None]
    tokens: list[float]
    counts: list[tuple[int, int, int]]  # matched, gold, test
    has_first: bool


@dataclass(frozen=True, slots=True)
class ScoredLists:
    """S lists of up to C distinct candidates in the parser's order, scored by M models; shorter
    lists are padded with zeros."""

    is_candidate: NDArray[np.bool_]  # [S, C] False for padding
    members: Array  # [S, C, M] log-probability in nats
    parser: Array  # [S, C] the parser's score in nats; nan where there is none
    tokens: Array  # [S, C] language model tokens, <eos> included
    counts: NDArray[np.int64]  # [S, C, 3] matched, gold and test brackets
    has_first: NDArray[np.bool_]  # [S] False where the parser's first candidate was rejected

    def __len__(self) -> int:
        return len(self.parser)

    def __getitem__(self, sentences: slice | NDArray[np.int64]) -> ScoredLists:
        """Return some of the lists."""
        return ScoredLists(*(getattr(self, column.name)[sentences] for column in fields(self)))

    @property
    def number_of_members(self) -> int:
        return int(self.members.shape[2])

    @property
    def has_parser_scores(self) -> bool:
        """Return whether every candidate has a parser score to mix in."""
        return not bool(np.isnan(self.parser).any())

    def scores(self, weighing: Weighing) -> Array:
        """Return [S, C] nats, the scores of ``ranking.rank`` under the criterion ``perplexity``;
        minus infinity for padding."""
        weights = weighing.member_weights or (1.0,) * self.number_of_members
        scores = self.mixed(weighing.lm_weight, weighing.token_bonus, weights)
        return np.where(self.is_candidate, scores.round(SCORE_DECIMALS), -np.inf)

    def mixed(self, lm_weight: float, token_bonus: float, member_weights: Sequence[float]) -> Array:
        """Return [S, C] nats: the formula of ``ranking.mixed_score`` for all candidates at once,
        which tuning needs thousands of times. A test compares the two."""
        scores: Array = self.members @ np.array(member_weights) + token_bonus * self.tokens
        if lm_weight < 1:  # else the parser may have no scores
            scores = lm_weight * scores + (1 - lm_weight) * self.parser
        return scores

    def best(self, weighing: Weighing) -> NDArray[np.int64]:
        """Return [S] the place of each list's best candidate; ties keep the parser's order."""
        places: NDArray[np.int64] = self.scores(weighing).argmax(1)
        return places

    def chosen(self, weighing: Weighing) -> NDArray[np.int64]:
        """Return [S, 3] the counts of each list's best candidate."""
        return self._counts_of(self.best(weighing))

    def parsers_first(self) -> NDArray[np.int64]:
        """Return [S, 3] the counts of the parser's first candidates."""
        return self.counts[:, 0]

    def oracle(self) -> NDArray[np.int64]:
        """Return [S, 3] the counts of each list's candidate with the best F1, the first of
        equals."""
        is_scored = self.counts.any(2)  # without brackets: padding, or left out by EVALB
        return self._counts_of(np.where(is_scored, f1_by_row(self.counts), -1.0).argmax(1))

    def _counts_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self.counts[np.arange(len(self)), places]
        return counts


def read_scored(
    ranked_lines: Iterable[str],
    gold: GoldTrees,
    ranked_name: str = "ranked output",
    most: int | None = None,
) -> ScoredLists:
    """Pair ranked output with gold trees, taking the parser's first ``most`` candidates of each
    list; a list without candidates is skipped. The name is for messages.

    Raises InputError for a line that is not ranked output, when the numbers of lines or of models
    differ, or when no list has a candidate.
    """
    lists = []
    trees, number = iter(gold), 0
    for number, line in enumerate(ranked_lines, 1):
        gold_tree = next(trees, None)
        if gold_tree is None:
            raise InputError(f"{ranked_name}: more sentences than the {len(gold)} of {gold.name}")
        with reading_sentence(ranked_name, number):
            scored_list = _scored_list(read_sentence(line)["ranking"], gold_tree, most)
        if scored_list.counts:
            lists.append(scored_list)
    if number < len(gold):
        raise InputError(f"{gold.name}: more trees than the {number} sentences of {ranked_name}")
    if not lists:
        raise InputError(f"{ranked_name}: no sentence has a usable candidate")
    sizes = {len(member) for scored_list in lists for member in scored_list.members}
    if len(sizes) > 1:
        raise InputError(
            f"{ranked_name}: some sentences were scored by {min(sizes)} models, some by "
            f"{max(sizes)}"
        )
    return _padded(lists, sizes.pop())


def _scored_list(
    ranking: Sequence[dict[str, Any]], gold: GoldTree, most: int | None
) -> _ScoredList:
    distinct_indexes(ranking)
    distinct = [
        entry
        for entry in ranking
        if entry["duplicate_of"] is None and (most is None or entry["index"] < most)
    ]
    distinct.sort(key=lambda entry: entry["index"])
    nlls = [entry.get("member_nll") or [entry["nll"]] for entry in distinct]
    parser = [entry["parser_score"] for entry in distinct]
    return _ScoredList(
        [[-_finite(nll) for nll in members] for members in nlls],
        [None if score is None else _finite(score) for score in parser],
        [_finite(entry["tokens"]) for entry in distinct],
        [gold.score(entry["tree"]).counts for entry in distinct],
        any(entry["index"] == 0 for entry in distinct),
    )


def _finite(number: float) -> float:
    """Return a number of a file. Raises TypeError or ValueError for anything but a finite one,
    which weights cannot be tuned with."""
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return float(number)


def _padded(lists: Sequence[_ScoredList], number_of_members: int) -> ScoredLists:
    shape = len(lists), max(len(scored_list.counts) for scored_list in lists)
    is_candidate = np.zeros(shape, dtype=np.bool_)
    members = np.zeros((*shape, number_of_members))
    parser = np.zeros(shape)
    tokens = np.zeros(shape)
    counts = np.zeros((*shape, 3), dtype=np.int64)
    for row, scored_list in enumerate(lists):
        cells = row, slice(len(scored_list.counts))
        is_candidate[cells] = True
        members[cells] = scored_list.members
        parser[cells] = np.array(scored_list.parser, dtype=np.float64)  # None becomes nan
        tokens[cells] = scored_list.tokens
        counts[cells] = scored_list.counts
    has_first = np.array([scored_list.has_first for scored_list in lists])
    return ScoredLists(is_candidate, members, parser, tokens, counts, has_first)
