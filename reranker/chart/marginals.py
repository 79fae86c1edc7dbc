"""How probable each constituent is, over all trees of a sentence (inside-outside)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.chart.best import Values


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """The distribution over all trees in which a tree's probability is proportional to exp of its
    score."""

    spans: Values
    """[n, n, L]: P(there is a constituent with this label | words), by first and last word."""
    log_partition: float
    """The logarithm of the sum over all trees of exp of their scores, in nats."""
    entropy: float
    """Of the distribution, in nats: 0 if one tree is certain."""


def marginals(gains: NDArray[np.floating], temperature: float = 1.0) -> Marginals:
    """The marginals for the gains of a ``Chart``, divided by ``temperature``, which makes the
    distribution flatter (more than 1) or sharper. Every tree is counted once, since none has two
    derivations."""
    scores = gains.astype(np.float64) / temperature
    labels = _log_sum(scores)
    inside = _Inside(labels)
    weights = _outside(inside, labels)
    words = len(scores)
    spans = weights[:, :, None] * np.exp(scores - labels[:, :, None])
    upper = np.triu(np.ones((words, words), bool))
    spans[~upper] = 0.0
    log_partition = float(inside.open[0, words])
    entropy = log_partition - float((spans * np.where(upper[:, :, None], scores, 0.0)).sum())
    return Marginals(spans, log_partition, max(0.0, entropy))


def log_partition(gains: NDArray[np.floating], temperature: float = 1.0) -> float:
    """``Marginals.log_partition`` alone."""
    labels = _log_sum(gains.astype(np.float64) / temperature)
    return float(_Inside(labels).open[0, len(labels)])


class _Inside:
    """As ``Chart``, with sums for maxima; in logarithms."""

    def __init__(self, labels: Values) -> None:
        words = len(labels)
        self.words = words
        self.sequence: Values = np.zeros((words, words + 1))
        self.closed: Values = np.zeros((words, words + 1))
        self.open: Values = np.full((words, words + 1), -np.inf)
        self.part: Values = np.full((words + 1, words + 1), -np.inf)
        for width in range(1, words + 1):
            starts = np.arange(words - width + 1)
            if width > 1:
                self.sequence[starts, width] = _log_sum(self.splits(width))
            sequence = self.sequence[starts, width]
            closed = sequence + labels[starts, starts + width - 1]
            self.closed[starts, width] = closed
            self.open[starts, width] = np.logaddexp(sequence, closed)
            self.part[starts + width, width] = closed if width > 1 else self.open[starts, 1]

    def splits(self, width: int) -> Values:
        spans = self.words - width + 1
        return self.open[:spans, 1:width] + self.part[width:, width - 1 : 0 : -1]


def _outside(inside: _Inside, labels: Values) -> Values:
    """[n, n]: P(there is a constituent), by its first and last word: the inside recursion
    backwards, each sum sharing out what it is worth among its terms."""
    words = inside.words
    found = np.zeros((words, words))
    of_open, of_part = np.zeros((words, words + 1)), np.zeros((words + 1, words + 1))
    of_open[0, words] = 1.0
    for width in range(words, 0, -1):
        starts = np.arange(words - width + 1)
        opened, part = of_open[starts, width], of_part[starts + width, width]
        if width == 1:  # a single word is the same as an open item
            opened, part = opened + part, np.zeros(len(starts))
        sequence, whole = inside.sequence[starts, width], inside.open[starts, width]
        closed = opened * np.exp(inside.closed[starts, width] - whole) + part
        found[starts, starts + width - 1] = closed
        if width > 1:
            weight = opened * np.exp(sequence - whole) + closed
            shares = np.exp(inside.splits(width) - sequence[:, None]) * weight[:, None]
            of_open[: len(starts), 1:width] += shares
            of_part[width:, width - 1 : 0 : -1] += shares
    return found


def _log_sum(values: Values) -> Values:
    """log of the sum of exp over the last axis."""
    most: Values = values.max(-1)
    total: Values = most + np.log(np.exp(values - most[..., None]).sum(-1))
    return total
