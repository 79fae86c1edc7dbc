"""What ``rerank tune`` works on: every candidate's log-probabilities and brackets, as arrays.

Reads what ``rerank --output ranked`` wrote, so that any number of weights costs one scoring.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTree
from reranker.evaluation.corpus import Parameters
from reranker.ranking import SCORE_DECIMALS, Weighing

Array = NDArray[np.float64]


class _Sentence(NamedTuple):
    members: list[list[float]]
    parser: list[float | None]
    tokens: list[int]
    counts: list[tuple[int, int, int]]  # matched, gold, test


@dataclass(frozen=True, slots=True)
class ScoredLists:
    """S lists of up to C distinct candidates in the parser's order, scored by M models; shorter
    lists are filled up with zeros."""

    is_candidate: NDArray[np.bool_]  # [S, C] False for what fills up
    members: Array  # [S, C, M] log-probability in nats
    parser: Array  # [S, C] the parser's, in nats; nan where there is none
    tokens: Array  # [S, C] LM tokens, <eos> included
    counts: NDArray[np.int64]  # [S, C, 3] matched, gold and test brackets

    def __len__(self) -> int:
        return len(self.parser)

    def __getitem__(self, sentences: slice | NDArray[np.int64]) -> ScoredLists:
        """Some of the lists."""
        return ScoredLists(
            self.is_candidate[sentences],
            self.members[sentences],
            self.parser[sentences],
            self.tokens[sentences],
            self.counts[sentences],
        )

    @property
    def number_of_members(self) -> int:
        return int(self.members.shape[2])

    @property
    def has_parser_scores(self) -> bool:
        """Whether there is something to mix in: a score for every candidate."""
        return not bool(np.isnan(self.parser).any())

    def scores(self, weighing: Weighing) -> Array:
        """[S, C] nats, what ``ranking.rank`` orders the lists by (total log-probability); minus
        infinity for what fills up."""
        weights = np.array(weighing.member_weights or (1.0,) * self.number_of_members)
        scores = self.members @ weights + weighing.token_bonus * self.tokens
        if weighing.lm_weight < 1:
            scores = weighing.lm_weight * scores + (1 - weighing.lm_weight) * self.parser
        return np.where(self.is_candidate, scores, -np.inf)

    def chosen(self, weighing: Weighing) -> NDArray[np.int64]:
        """[S, 3] the counts of each list's best candidate; ties keep the parser's order."""
        best = self.scores(weighing).round(SCORE_DECIMALS).argmax(1)
        return self._counts_of(best)

    def parsers_first(self) -> NDArray[np.int64]:
        """[S, 3] the counts of the parser's first candidates."""
        return self.counts[:, 0]

    def oracle(self) -> NDArray[np.int64]:
        """[S, 3] the counts of each list's candidate with the best F1, the first of equals."""
        matched, gold, test = np.moveaxis(self.counts, 2, 0)
        whole = gold + test
        own = np.divide(matched, whole, out=np.full(whole.shape, -1.0), where=whole > 0)
        return self._counts_of(own.argmax(1))

    def _counts_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self.counts[np.arange(len(self)), places]
        return counts


def read_scored(
    ranked_lines: Iterable[str], gold_lines: Iterable[str], gold_tags: bool
) -> ScoredLists:
    """Pair ranked output with gold trees; a list without candidates is left out.

    Raises InputError for a line that is not ranked output, when the numbers of lines or of models
    differ, or when no list has a candidate.
    """
    parameters = Parameters.collins()
    sentences = []
    gold = iter(gold_lines)
    number = 0
    for number, line in enumerate(ranked_lines, 1):
        gold_line = next(gold, None)
        if gold_line is None:
            raise InputError(f"more ranked sentences than the {number - 1} gold trees")
        standard = GoldTree(gold_line, parameters, gold_tags)
        try:
            sentence = _sentence(json.loads(line)["ranking"], standard)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"line {number} is not a sentence of `rerank --output ranked`: {error}"
            ) from error
        if sentence.counts:
            sentences.append(sentence)
    if next(gold, None) is not None:
        raise InputError(f"more gold trees than the {number} ranked sentences")
    if not sentences:
        raise InputError("no sentence with a usable candidate")
    return _padded(sentences)


def _sentence(ranking: Sequence[dict[str, Any]], gold: GoldTree) -> _Sentence:
    distinct = [one for one in ranking if one["duplicate_of"] is None]
    distinct.sort(key=lambda one: one["index"])
    return _Sentence(
        [[-nll for nll in one.get("member_nll") or [one["nll"]]] for one in distinct],
        [one["parser_score"] for one in distinct],
        [one["tokens"] for one in distinct],
        [gold.counts(one["tree"]) for one in distinct],
    )


def _padded(sentences: Sequence[_Sentence]) -> ScoredLists:
    shape = len(sentences), max(len(one.counts) for one in sentences)
    sizes = {len(member) for one in sentences for member in one.members}
    if len(sizes) > 1:
        raise InputError(f"some sentences were scored by {min(sizes)} models, some by {max(sizes)}")
    is_candidate = np.zeros(shape, dtype=np.bool_)
    members = np.zeros((*shape, sizes.pop()))
    parser = np.zeros(shape)
    tokens = np.zeros(shape)
    counts = np.zeros((*shape, 3), dtype=np.int64)
    for row, one in enumerate(sentences):
        here = row, slice(len(one.counts))
        is_candidate[here] = True
        members[here] = one.members
        parser[here] = np.array(one.parser, dtype=np.float64)  # None becomes nan
        tokens[here] = one.tokens
        counts[here] = one.counts
    return ScoredLists(is_candidate, members, parser, tokens, counts)
