"""The probability of each constituent, over all trees of a sentence (inside-outside)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.chart.best import Gains, Recursion, Values

_NEGLIGIBLE = 1e-12  # P(there is a constituent)
_AT_ONCE = 256  # spans whose labels' scores fit into a processor's cache


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
    return next(marginals_of_each([gains], temperature))


def marginals_of_each(several: Sequence[Gains], temperature: float = 1.0) -> Iterator[Marginals]:
    """Yield the marginals of sentences whose charts are filled side by side, which is faster for
    sentences of similar length. None depends on another sentence."""
    labels = [_label_sums(gains, temperature) for gains in several]
    inside = _inside(labels)
    of_closed = _outside(inside)
    for number, (gains, sums, words) in enumerate(
        zip(several, labels, inside.lengths, strict=True)
    ):
        weights = of_closed[number, :words, : words + 1]
        starts, widths = np.nonzero(weights >= _NEGLIGIBLE)
        lasts = starts + widths - 1
        scores = _scores(gains, starts, lasts, temperature)
        probabilities = np.exp(scores - sums[starts, lasts, None])
        probabilities *= weights[starts, widths, None]
        whole = float(inside.open[number, 0, words])
        entropy = max(0.0, whole - float((probabilities * scores).sum()))
        yield Marginals(np.stack([starts, lasts], 1), probabilities, whole, entropy)


def log_partition(gains: Gains, temperature: float = 1.0) -> float:
    """Return ``Marginals.log_partition`` alone."""
    inside = _inside([_label_sums(gains, temperature)])
    return float(inside.open[0, 0, inside.words])


def _scores(
    gains: Gains, starts: NDArray[np.int64], lasts: NDArray[np.int64], temperature: float
) -> Values:
    """Return the scores of the labels of some spans, [spans, L]."""
    scores: Values = gains.labels[starts, lasts].astype(np.float64)
    scores -= gains.none[starts, lasts, None]
    scores /= temperature
    return scores


def _label_sums(gains: Gains, temperature: float) -> Values:
    """Return the logarithm of the sum over labels of exp(score), [n, n]."""
    sums = np.zeros_like(gains.none)
    all_starts, all_lasts = np.nonzero(np.tri(len(sums), dtype=bool).T)
    for first in range(0, len(all_starts), _AT_ONCE):
        starts, lasts = (each[first : first + _AT_ONCE] for each in (all_starts, all_lasts))
        sums[starts, lasts] = _log_sum(_scores(gains, starts, lasts, temperature))
    return sums


def _inside(labels: Sequence[Values]) -> Recursion:
    """Compute ``Chart`` with sums in place of maxima, in logarithms."""
    return Recursion(labels, _log_sum, np.logaddexp)


def _outside(inside: Recursion) -> Values:
    """Return P(there is a constituent) by its first word and its width, [B, n, n + 1]: the inside
    recursion backwards, where each sum shares out its probability among its terms."""
    words = inside.words
    of_closed, of_open = np.zeros_like(inside.closed), np.zeros_like(inside.closed)
    of_part = np.zeros_like(inside.part)
    of_open[np.arange(len(of_open)), 0, inside.lengths] = 1.0
    for width in range(words, 0, -1):
        spans = words - width + 1
        opened, part = of_open[:, :spans, width], of_part[:, width:, width]
        if width == 1:  # a single word is the same as an open item
            opened, part = opened + part, np.zeros_like(part)
        sequence, whole = inside.sequence[:, :spans, width], inside.open[:, :spans, width]
        closed = opened * np.exp(inside.closed[:, :spans, width] - whole) + part
        of_closed[:, :spans, width] = closed
        if width > 1:
            weight = opened * np.exp(sequence - whole) + closed
            shares = np.exp(inside.splits(width) - sequence[..., None])
            shares *= weight[..., None]
            of_open[:, :spans, 1:width] += shares
            of_part[:, width:, width - 1 : 0 : -1] += shares
    return of_closed


def _log_sum(values: Values) -> Values:
    """Return the log of the sum of exp over the last axis."""
    most: Values = values.max(-1)
    shares = values - most[..., None]
    total: Values = np.exp(shares, out=shares).sum(-1)
    np.log(total, out=total)
    total += most
    return total
