"""``reranker.confidence`` fitted to scored lists with gold trees, and how well it holds.

Only lists count where another tree than the parser's first is chosen. Equal F1 is not better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.confidence import FEATURES, Calibration, features
from reranker.evaluation.brackets import f1_by_row
from reranker.ranking import Weighing
from reranker.tuning.lists import Array, ScoredLists

FEWEST = 25  # choices that are better, and that are not: of fewer nothing is learned
BINS = 10
_PENALTIES = 1e-3, *(1.0,) * len(FEATURES)  # L2; the intercept's only keeps it finite
_ROUNDS = 100
_DECIMALS = 4
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Choices:
    """The N lists where another tree than the parser's first is chosen."""

    lists: NDArray[np.int64]  # [N] which
    features: Array  # [N, F]
    is_better: NDArray[np.bool_]  # [N] than the parser's first, by F1

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, some: NDArray[np.bool_]) -> Choices:
        return Choices(self.lists[some], self.features[some], self.is_better[some])

    @property
    def are_enough(self) -> bool:
        """Whether a calibration can be fitted."""
        better = int(self.is_better.sum())
        return min(better, len(self) - better) >= FEWEST


def choices(lists: ScoredLists, weighing: Weighing) -> Choices:
    """Those under this weighing; without the sentences that EVALB leaves out, or whose parser gave
    one of the two no score."""
    best = lists.best(weighing)
    rows = np.arange(len(lists))
    counts = np.stack([lists.counts[rows, best], lists.counts[:, 0]])
    parser = lists.parser[rows, best] - lists.parser[:, 0]
    usable = (best > 0) & lists.has_first & counts.any(2).all(0) & ~np.isnan(parser)
    rows, best = rows[usable], best[usable]
    models = lists.members[rows, best] - lists.members[rows, 0]
    found = [
        features(gains, gain)
        for gains, gain in zip(models.tolist(), parser[usable].tolist(), strict=True)
    ]
    f1 = f1_by_row(counts[:, usable])
    return Choices(rows, np.array(found).reshape(len(rows), len(FEATURES)), f1[0] > f1[1])


def fit(some: Choices, weighing: Weighing) -> Calibration:
    """The most likely coefficients under an L2 penalty, by Newton's method."""
    inputs = np.column_stack([np.ones(len(some)), some.features])
    penalties = np.array(_PENALTIES)
    weights = np.zeros(len(penalties))
    for _ in range(_ROUNDS):
        found = _sigmoid(inputs @ weights)
        gradient = inputs.T @ (found - some.is_better) + penalties * weights
        curvature = (inputs.T * (found * (1 - found))) @ inputs + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 10**-_DECIMALS / 100:
            break
    intercept, *coefficients = weights.round(_DECIMALS).tolist()
    return Calibration(weighing, intercept, tuple(coefficients))


def probabilities(some: Choices, calibration: Calibration) -> Array:
    """[N] that each choice is better."""
    log_odds = calibration.intercept + some.features @ np.array(calibration.coefficients)
    return _sigmoid(log_odds)


def cross_validated(some: Choices, lists: int, folds: int, weighing: Weighing) -> Array:
    """[N] the same for each block of neighbouring sentences, of all ``lists`` of them, fitted to
    the other blocks."""
    found = np.empty(len(some))
    for block in np.array_split(np.arange(lists), min(folds, lists)):
        inside = np.isin(some.lists, block)
        found[inside] = probabilities(some[inside], fit(some[~inside], weighing))
    return found


@dataclass(frozen=True, slots=True)
class Quality:
    """How good probabilities are; less is better for each."""

    brier: float
    log_loss: float  # nats
    calibration_error: float  # expected, between the bins of ``reliability``

    @classmethod
    def of(cls, probabilities: Array, is_better: NDArray[np.bool_]) -> Quality:
        right = np.where(is_better, probabilities, 1 - probabilities)
        bins = reliability(probabilities, is_better)
        error = sum(one.size * abs(one.said - one.found) for one in bins) / len(is_better)
        return cls(
            float(((1 - right) ** 2).mean()), float(-np.log(right.clip(1e-12)).mean()), float(error)
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Choices of like probability."""

    size: int
    said: float  # mean probability
    found: float  # share that is better

    @property
    def interval(self) -> tuple[float, float]:
        """95 % for the share (Wilson 1927)."""
        spread = _NORMAL_95**2 / self.size
        middle = (self.found + spread / 2) / (1 + spread)
        variance = self.found * (1 - self.found) / self.size + spread / (4 * self.size)
        reach = _NORMAL_95 * variance**0.5 / (1 + spread)
        return middle - reach, middle + reach


def reliability(probabilities: Array, is_better: NDArray[np.bool_]) -> list[Bin]:
    """``BINS`` bins of equally many choices, by probability."""
    order = probabilities.argsort(kind="stable")
    return [
        Bin(len(some), float(probabilities[some].mean()), float(is_better[some].mean()))
        for some in np.array_split(order, min(BINS, len(order)))
    ]


def _sigmoid(log_odds: Array) -> Array:
    return (1 + np.tanh(log_odds / 2)) / 2  # exp could leave the number range
