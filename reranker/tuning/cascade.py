"""Fits the margins of a cascade to scored lists: as small as is possible with few missed winners.

docs/tuning.md explains the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reranker.cascade import Cascade
from reranker.evaluation.brackets import corpus_f1
from reranker.ranking import Weighing
from reranker.tuning.lists import Array, ScoredLists

Stages = tuple[tuple[int, ...], ...]

_DECIMALS = 2
_DIVISIONS = 6  # that are tried of what the first of several stages may miss


@dataclass(frozen=True, slots=True)
class Descent:
    """The outcome of lists in a cascade."""

    scored: Array  # [stages] share of the candidates that each stage scores
    missed: NDArray[np.bool_]  # [S] whether the best candidate was left out
    counts: NDArray[np.int64]  # [S, 3] of each list's best candidate of those that stayed

    @property
    def f1(self) -> float:
        """Percent."""
        return corpus_f1(self.counts)


def fit(lists: ScoredLists, weighing: Weighing, stages: Stages, miss: float) -> Cascade:
    """The margins under which at most the share ``miss`` of the best candidates is missed and
    models score the fewest candidates in all: the stages share the allowed misses."""
    rows, best = np.arange(len(lists)), lists.best(weighing)
    behind = []  # for each stage but the last [S]: nats from the candidate that leads to the best
    for step in range(1, len(stages)):
        scores = _expected(lists, weighing, stages[:step])
        behind.append(scores.max(1) - scores[rows, best])
    choices = _margins(behind, np.zeros(len(lists), dtype=np.bool_), int(miss * len(lists)))
    cascades = [Cascade(weighing, stages, margins) for margins in choices]
    sizes = [len(stage) for stage in stages]
    return min(cascades, key=lambda cascade: float(descend(lists, cascade).scored @ sizes))


def _margins(
    behind: Sequence[Array], missed: NDArray[np.bool_], allowed: int
) -> Iterator[tuple[float, ...]]:
    """Margins of some stages that together miss the given number of lists: a few ways to divide
    these."""
    if not behind:
        yield ()
        return
    first, *others = behind
    descending = np.sort(np.where(missed, 0.0, first))[::-1]
    parts = np.linspace(0, allowed, _DIVISIONS + 1) if others else [allowed]
    for part in sorted({int(part) for part in parts}):
        nats = descending[min(part, len(descending) - 1)]
        margin = float(np.ceil(nats * 10**_DECIMALS) / 10**_DECIMALS)
        now = missed | (first > margin)
        left = allowed - int(now.sum() - missed.sum())
        for more in _margins(others, now, left):
            yield margin, *more


def descend(lists: ScoredLists, cascade: Cascade) -> Descent:
    """Send the lists through the cascade."""
    stays = lists.is_candidate.copy()
    shares = []
    for step in range(len(cascade.stages)):
        shares.append(stays.sum() / lists.is_candidate.sum())
        if step < len(cascade.margins):
            scores = _expected(lists, cascade.weighing, cascade.stages[: step + 1])
            scores = np.where(stays, scores, -np.inf)
            stays &= scores >= scores.max(1, keepdims=True) - cascade.margins[step]
    final = np.where(stays, lists.scores(cascade.weighing), -np.inf).argmax(1)
    rows = np.arange(len(lists))
    missed = final != lists.best(cascade.weighing)
    return Descent(np.array(shares), missed, lists.counts[rows, final])


def unseen(
    lists: ScoredLists, weighing: Weighing, stages: Stages, miss: float, folds: int
) -> Descent:
    """The outcome for each block of neighbouring lists under margins fitted to the others; for a
    single list, under its own."""
    everything = np.arange(len(lists))
    blocks = np.array_split(everything, min(folds, len(lists)))
    parts = []
    for block in blocks:
        others = np.setdiff1d(everything, block) if len(blocks) > 1 else block
        parts.append(descend(lists[block], fit(lists[others], weighing, stages, miss)))
    sizes = [int(lists[block].is_candidate.sum()) for block in blocks]
    return Descent(
        np.average([part.scored for part in parts], axis=0, weights=sizes),
        np.concatenate([part.missed for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def _expected(lists: ScoredLists, weighing: Weighing, stages: Sequence[Sequence[int]]) -> Array:
    """[S, C] nats: what ``reranker.cascade.expected`` leads to, for all candidates at once; minus
    infinity for padding. A test compares the two."""
    known = [member for stage in stages for member in stage]
    members = np.empty_like(lists.members)
    members[:] = lists.members[:, :, known].mean(2, keepdims=True)
    members[:, :, known] = lists.members[:, :, known]
    return replace(lists, members=members).scores(weighing)
