"""The best tree of a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Span(NamedTuple):
    """A constituent: its first word, the word after its last, and the number of its label."""

    start: int
    end: int
    label: int


class Derivation(NamedTuple):
    """A tree of the chart: its score in nats, and its constituents, parents before children and
    left to right."""

    score: float
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """The gain of a constituent: log P(label) - log P(no constituent), in nats. Differences are
    computed on demand, in float64: all the differences of a long sentence would not fit into
    memory."""

    labels: NDArray[np.floating]
    """log P(label), [n, n, L], by a span's first and last word; entries below the diagonal are not
    read."""
    none: Values  # log P(no constituent), [n, n]

    @classmethod
    def of_table(cls, table: NDArray[np.floating], none: int, first: int) -> Gains:
        """Return the gains of the labels from ``first`` on, from log P of all labels [n, n, L], one
        of which is ``none``."""
        return cls(table[:, :, first:], table[:, :, none].astype(np.float64))

    @property
    def without(self) -> float:
        """Return the log-probability of the tree without any constituent."""
        return float(self.none[np.tri(len(self.none), dtype=bool).T].sum())

    def of(self, start: int, last: int) -> Values:
        """Return the gains of all labels of a span, [L]."""
        gains: Values = self.labels[start, last].astype(np.float64) - self.none[start, last]
        return gains

    def best(self) -> Values:
        """Return the greatest gain of each span, [n, n]."""
        best: Values = self.labels.max(2).astype(np.float64) - self.none
        return best


class Recursion:
    """The scores of all spans of sentences side by side. ``total`` combines the scores of a span's
    possible contents, ``either`` the scores with and without a constituent around them. Arrays are
    indexed by a span's start, or its end, and its width: spans that meet are neighbours in a
    row."""

    def __init__(
        self,
        labels: Sequence[Values],
        total: Callable[[Values], Values],
        either: Callable[[Values, Values], Values],
    ) -> None:
        """Fill the arrays; ``labels`` are the scores of a constituent around each span, [n, n] for
        each sentence. Entries beyond the end of a shorter sentence are computed, too; no score of
        that sentence depends on them."""
        self.lengths = [*map(len, labels)]
        words = self.words = max(self.lengths)
        scores = np.zeros((len(labels), words, words))
        for own, into in zip(labels, scores, strict=True):
            into[: len(own), : len(own)] = own
        shape = len(labels), words, words + 1
        self.sequence: Values = np.zeros(shape)  # [B, start, width]
        self.closed: Values = np.zeros(shape)  # [B, start, width]
        self.open: Values = np.full(shape, -np.inf)  # [B, start, width]
        self.part: Values = np.full((len(labels), words + 1, words + 1), -np.inf)  # [B, end, width]
        for width in range(1, words + 1):
            spans = words - width + 1
            inside = self.sequence[:, :spans, width]
            if width > 1:
                inside[:] = total(self.splits(width))
            closed = self.closed[:, :spans, width]
            np.add(inside, scores.diagonal(width - 1, 1, 2), out=closed)
            self.open[:, :spans, width] = either(inside, closed)
            self.part[:, width:, width] = closed if width > 1 else self.open[:, :spans, 1]

    def splits(self, width: int) -> Values:
        """Return, for every span of this width, the score of the best sequence for each width of
        all but its last part, [B, spans, width - 1]."""
        spans = self.words - width + 1
        return self.open[:, :spans, 1:width] + self.part[:, width:, width - 1 : 0 : -1]


class Chart:
    """The best scores of all spans of a sentence, [start, width], and of parts by end and width."""

    def __init__(self, gains: Gains, scores: Recursion | None = None, number: int = 0) -> None:
        """Fill the chart, or take the sentence of this number from ``scores``."""
        scores = scores or _best_scores([gains])
        self.gains, self.words = gains, scores.lengths[number]
        every = scores.sequence, scores.closed, scores.open, scores.part
        self.sequence, self.closed, self.open, self.part = (each[number] for each in every)

    @property
    def score(self) -> float:
        """Return the score of the best tree, in nats, relative to the tree without any
        constituent."""
        return float(self.open[0, self.words])

    def splits_of(self, start: int, end: int) -> Values:
        """Return ``splits`` for one span, [width - 1]."""
        width = end - start
        values: Values = self.open[start, 1:width] + self.part[end, width - 1 : 0 : -1]
        return values

    def best(self) -> Derivation:
        """Return the best tree. Ties go to the tree with fewer brackets, then to the earlier start
        of the last part, then to the first label."""
        spans: list[Span] = []
        stack = [(0, self.words, False)]  # start, end, True if it must be a constituent
        while stack:
            start, end, is_closed = stack.pop()
            inside = self.sequence[start, end - start]
            if is_closed or self.closed[start, end - start] > inside:
                spans.append(Span(start, end, int(self.gains.labels[start, end - 1].argmax())))
            if end - start > 1:
                middle = start + 1 + int(self.splits_of(start, end).argmax())
                stack += [(middle, end, end - middle > 1), (start, middle, False)]
        return Derivation(self.score, tuple(spans))


def charts(several: Sequence[Gains]) -> list[Chart]:
    """Return the charts of sentences, filled side by side, which is faster for sentences of similar
    length. None depends on another sentence."""
    scores = _best_scores(several)
    return [Chart(gains, scores, number) for number, gains in enumerate(several)]


def _best_scores(several: Sequence[Gains]) -> Recursion:
    best = [gains.best() for gains in several]
    return Recursion(best, lambda splits: splits.max(2), np.maximum)
