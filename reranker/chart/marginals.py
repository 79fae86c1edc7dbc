"""The probability of each constituent, over all trees of a sentence (inside-outside)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.chart.best import Gains, Recursion, Values

_NEGLIGIBLE = 1e-12  # P(there is a constituent)


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """The distribution over all trees in which P(tree) is proportional to exp(score)."""

    places: NDArray[np.int64]
    """The first and last word of the spans whose probability is not negligible, [M, 2]."""
    probabilities: Values  # p(there is a constituent with this label | words), [M, L]
    log_partition: float  # the logarithm of the sum over all trees of exp of their scores, in nats
    entropy: float  # the entropy of the distribution in nats; 0 if one tree is certain


def marginals(gains: Gains, temperature: float = 1.0) -> Marginals:
    """Return the marginals of trees whose ``Chart`` scores are divided by ``temperature``: above 1
    the distribution is flatter, below 1 sharper. Every tree is counted once, since none has two
    derivations."""
    labels = _label_sums(gains, temperature)
    inside = _inside(labels)
    weights = _outside(inside)
    places = np.argwhere(weights >= _NEGLIGIBLE)
    starts, lasts = places.T
    scores = gains.labels[starts, lasts].astype(np.float64) - gains.none[starts, lasts, None]
    scores /= temperature
    shares = np.exp(scores - labels[starts, lasts, None])
    probabilities = weights[starts, lasts, None] * shares
    log_partition = float(inside.open[0, inside.words])
    entropy = log_partition - float((probabilities * scores).sum())
    return Marginals(places, probabilities, log_partition, max(0.0, entropy))


def log_partition(gains: Gains, temperature: float = 1.0) -> float:
    """Return ``Marginals.log_partition`` alone."""
    inside = _inside(_label_sums(gains, temperature))
    return float(inside.open[0, inside.words])


def _label_sums(gains: Gains, temperature: float) -> Values:
    """Return the logarithm of the sum over labels of exp(score), [n, n]."""
    sums = np.zeros_like(gains.none)
    for start, (labels, none) in enumerate(zip(gains.labels, gains.none, strict=True)):
        scores = labels[start:].astype(np.float64) - none[start:, None]
        sums[start, start:] = _log_sum(scores / temperature)
    return sums


def _inside(labels: Values) -> Recursion:
    """Compute ``Chart`` with sums in place of maxima, in logarithms."""
    return Recursion(labels, _log_sum, np.logaddexp)


def _outside(inside: Recursion) -> Values:
    """Return P(there is a constituent) by its first and last word, [n, n]: the inside recursion
    backwards, where each sum shares out its probability among its terms."""
    words = inside.words
    inside_of = np.zeros((words, words))
    of_open, of_part = np.zeros((words, words + 1)), np.zeros((words + 1, words + 1))
    of_open[0, words] = 1.0
    for width in range(words, 0, -1):
        starts = np.arange(words - width + 1)
        opened, part = of_open[starts, width], of_part[starts + width, width]
        if width == 1:  # a single word is the same as an open item
            opened, part = opened + part, np.zeros(len(starts))
        sequence, whole = inside.sequence[starts, width], inside.open[starts, width]
        closed = opened * np.exp(inside.closed[starts, width] - whole) + part
        inside_of[starts, starts + width - 1] = closed
        if width > 1:
            weight = opened * np.exp(sequence - whole) + closed
            shares = np.exp(inside.splits(width) - sequence[:, None]) * weight[:, None]
            of_open[: len(starts), 1:width] += shares
            of_part[width:, width - 1 : 0 : -1] += shares
    return inside_of


def _log_sum(values: Values) -> Values:
    """Return the log of the sum of exp over the last axis."""
    most: Values = values.max(-1)
    total: Values = most + np.log(np.exp(values - most[..., None]).sum(-1))
    return total
