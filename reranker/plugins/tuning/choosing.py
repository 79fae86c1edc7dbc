"""Tunes, cross-validates and chooses an ensemble's weights on scored lists.

docs/tuning.md explains the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.evaluation.brackets import corpus_f1
from reranker.evaluation.significance import randomisation_p
from reranker.plugins.tuning.scored_lists import ScoredLists
from reranker.plugins.tuning.weight_search import tune
from reranker.ranking import Weighing

WEIGHTS = tuple(round(step * 0.05, 2) for step in range(21))

# The p-value below which more weights count as better on lists they were not tuned on.
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """A set of weights tuned on all lists, with its quality."""

    name: str
    weighing: Weighing
    f1: float  # percent, on the lists they were tuned on
    unseen: NDArray[np.int64]  # [S, 3] counts of each list under weights tuned without it

    @property
    def unseen_f1(self) -> float:
        """Return the cross-validated F1 in percent."""
        return corpus_f1(self.unseen)


def sweep(lists: ScoredLists) -> dict[float, float]:
    """Return F1 by ``lm_weight``; without parser scores, of weight 1 only."""
    weights = WEIGHTS if lists.has_parser_scores else (1.0,)
    return {weight: corpus_f1(lists.chosen(Weighing(weight))) for weight in weights}


def outcomes(lists: ScoredLists, folds: int) -> list[Outcome]:
    """Return outcomes with more and more weights tuned: the language models' weight, if there are
    parser scores to mix with, then also the token bonus and the members' weights."""
    name = "LM weight" if lists.has_parser_scores else "models alone"
    kinds = [(name, False, False), ("+ token bonus", True, False)]
    if lists.number_of_members > 1:
        kinds += [("+ member weights", False, True), ("+ both", True, True)]
    results = []
    for name, with_bonus, with_members in kinds:
        weighing = tune(lists, with_bonus, with_members)
        unseen = cross_validated(lists, with_bonus, with_members, folds)
        results.append(Outcome(name, weighing, corpus_f1(lists.chosen(weighing)), unseen))
    return results


def untuned(lists: ScoredLists, weighing: Weighing) -> Outcome:
    """Return the outcome of given weights, for which every list is unseen."""
    counts = lists.chosen(weighing)
    return Outcome("as given", weighing, corpus_f1(counts), counts)


def choose(results: Sequence[Outcome]) -> Outcome:
    """Return the first outcome, which is the simplest, unless another is significantly better on
    unseen lists."""
    simplest = results[0]
    best = max(results, key=lambda outcome: outcome.unseen_f1)
    is_better = best.unseen_f1 > simplest.unseen_f1
    if is_better and randomisation_p(simplest.unseen, best.unseen) < SIGNIFICANT:
        return best
    return simplest


def cross_validated(
    lists: ScoredLists, with_bonus: bool, with_members: bool, folds: int
) -> NDArray[np.int64]:
    """Return the counts [S, 3] of every list's best candidate under weights tuned on the other
    blocks.

    A block is a run of neighbouring sentences: those of one document are alike, and weights tuned
    on some of them would know too much about the rest. A single list is tuned and tested on itself.
    """
    everything = np.arange(len(lists))
    parts = []
    for block in np.array_split(everything, min(folds, len(lists))):
        others = np.setdiff1d(everything, block) if len(block) < len(lists) else block
        weighing = tune(lists[others], with_bonus, with_members)
        parts.append(lists[block].chosen(weighing))
    return np.concatenate(parts)
