"""Fits ``reranker.ranking.confidence`` to scored lists with gold trees, and measures its quality.

Only lists count in which a tree other than the parser's first is chosen. Equal F1 is not better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.evaluation.brackets import f1_by_row
from reranker.plugins.tuning.scored_lists import Array, ScoredLists
from reranker.ranking import Weighing
from reranker.ranking.confidence import FEATURES, Calibration, features

FEWEST = 25  # choices that are better, and that are not: of fewer nothing is learned
BINS = 10
_PENALTIES = 1e-3, *(1.0,) * len(FEATURES)  # L2; the intercept's only keeps it finite
_ROUNDS = 100
_DECIMALS = 4
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Choices:
    """The N lists in which a tree other than the parser's first is chosen."""

    lists: NDArray[np.int64]  # [N] which
    features: Array  # [N, F]
    is_better: NDArray[np.bool_]  # [N] than the parser's first, by F1

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, some: NDArray[np.bool_]) -> Choices:
        return Choices(self.lists[some], self.features[some], self.is_better[some])

    @property
    def are_enough(self) -> bool:
        """Return whether a calibration can be fitted."""
        better = int(self.is_better.sum())
        return min(better, len(self) - better) >= FEWEST


def choices(lists: ScoredLists, weighing: Weighing) -> Choices:
    """Return the choices under this weighing, without sentences that EVALB leaves out or in which
    one of the two trees has no parser score."""
    best = lists.best(weighing)
    rows = np.arange(len(lists))
    counts = np.stack([lists.counts[rows, best], lists.counts[:, 0]])
    parser = lists.parser[rows, best] - lists.parser[:, 0]
    usable = (best > 0) & lists.has_first & counts.any(2).all(0) & ~np.isnan(parser)
    rows, best = rows[usable], best[usable]
    models = lists.members[rows, best] - lists.members[rows, 0]
    numbers = [
        features(gains, gain)
        for gains, gain in zip(models.tolist(), parser[usable].tolist(), strict=True)
    ]
    f1 = f1_by_row(counts[:, usable])
    return Choices(rows, np.array(numbers).reshape(len(rows), len(FEATURES)), f1[0] > f1[1])


def fit(some: Choices, weighing: Weighing) -> Calibration:
    """Fit the most likely coefficients under an L2 penalty, by Newton's method."""
    inputs = np.column_stack([np.ones(len(some)), some.features])
    penalties = np.array(_PENALTIES)
    weights = np.zeros(len(penalties))
    for _ in range(_ROUNDS):
        probabilities = _sigmoid(inputs @ weights)
        gradient = inputs.T @ (probabilities - some.is_better) + penalties * weights
        curvature = (inputs.T * (probabilities * (1 - probabilities))) @ inputs + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 10**-_DECIMALS / 100:
            break
    intercept, *coefficients = weights.round(_DECIMALS).tolist()
    return Calibration(weighing, intercept, tuple(coefficients))


def probabilities(some: Choices, calibration: Calibration) -> Array:
    """Return the probability that each choice is better, [N]."""
    log_odds = calibration.intercept + some.features @ np.array(calibration.coefficients)
    return _sigmoid(log_odds)


def _sigmoid(log_odds: Array) -> Array:
    return (1 + np.tanh(log_odds / 2)) / 2  # exp could leave the number range


@dataclass(frozen=True, slots=True)
class Bin:
    """A group of choices of similar probability."""

    size: int
    predicted: float  # mean probability
    observed: float  # share that is better

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95% interval of the share (Wilson 1927)."""
        spread = _NORMAL_95**2 / self.size
        middle = (self.observed + spread / 2) / (1 + spread)
        variance = self.observed * (1 - self.observed) / self.size + spread / (4 * self.size)
        reach = _NORMAL_95 * variance**0.5 / (1 + spread)
        return middle - reach, middle + reach


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of choices, the probability predicted for each, and the quality of these probabilities;
    lower is better for every figure."""

    is_better: NDArray[np.bool_]  # [N]
    predicted: Array  # [N] probabilities

    @property
    def share(self) -> float:
        """Return the share of choices that are better."""
        return float(self.is_better.mean())

    @property
    def constant(self) -> Judged:
        """Return the same choices if the probability of each were ``share``."""
        return Judged(self.is_better, np.full(len(self.predicted), self.share))

    @property
    def brier(self) -> float:
        return float(((self.predicted - self.is_better) ** 2).mean())

    @property
    def log_loss(self) -> float:
        """Return the log loss in nats."""
        right = np.where(self.is_better, self.predicted, 1 - self.predicted)
        return float(-np.log(right.clip(1e-12)).mean())

    @property
    def calibration_error(self) -> float:
        """Return the expected calibration error: the mean distance between a bin's probability and
        its share."""
        return sum(each.size * abs(each.predicted - each.observed) for each in self.bins) / len(
            self.predicted
        )

    @property
    def error_by_chance(self) -> float:
        """Return the ``calibration_error`` to expect if ``predicted`` were right: the shares of the
        bins are nearly normal, and the mean distance from the centre is sqrt(2 / pi) of the
        deviation."""
        deviations = [(predicted * (1 - predicted)).sum() ** 0.5 for predicted, _ in self._parts]
        return float((2 / np.pi) ** 0.5 * sum(deviations) / len(self.predicted))

    @property
    def bins(self) -> list[Bin]:
        """Return ``BINS`` bins of equally many choices, by probability."""
        return [
            Bin(len(predicted), float(predicted.mean()), float(outcomes.mean()))
            for predicted, outcomes in self._parts
        ]

    @property
    def _parts(self) -> list[tuple[Array, NDArray[np.bool_]]]:
        order = self.predicted.argsort(kind="stable")
        parts = np.array_split(order, min(BINS, len(order)))
        return [(self.predicted[some], self.is_better[some]) for some in parts]


def cross_validated(
    lists: ScoredLists, weighing: Weighing, folds: int, lm_weight: float | None = None
) -> Judged:
    """Return the choices of each block of neighbouring sentences, judged by a fit to the other
    blocks. If ``lm_weight`` is given, the choices are made with it instead of the weight fitted
    to."""
    fitted, judged = choices(lists, weighing), choices(lists, weighing.replaced(lm_weight))
    predicted = np.empty(len(judged))
    for block in np.array_split(np.arange(len(lists)), min(folds, len(lists))):
        inside = np.isin(judged.lists, block)
        others = fitted[~np.isin(fitted.lists, block)]
        predicted[inside] = probabilities(judged[inside], fit(others, weighing))
    return Judged(judged.is_better, predicted)
