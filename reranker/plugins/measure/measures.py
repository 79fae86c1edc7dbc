"""Measures of sentences and texts, with their uncertainty from parses and from the sample of
sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from reranker.plugins.measure.structures import COUNTED, Values, counts
from reranker.trees.tree import short_repr
from reranker.work.parses import Parses

RATIOS = {
    **{"MLS": ("W", "S"), "MLT": ("W", "T"), "MLC": ("W", "C"), "C/S": ("C", "S")},
    **{"VP/T": ("VP", "T"), "C/T": ("C", "T"), "DC/C": ("DC", "C"), "DC/T": ("DC", "T")},
    **{"T/S": ("T", "S"), "CT/T": ("CT", "T"), "CP/T": ("CP", "T"), "CP/C": ("CP", "C")},
    **{"CN/T": ("CN", "T"), "CN/C": ("CN", "C")},
    **{"Yngve": ("yngve", "W"), "Yngve max": ("yngve max", "S")},
    **{"Frazier": ("frazier", "W"), "Frazier max": ("frazier max", "S")},
    **{"nodes": ("nodes", "S"), "depth": ("depth", "W"), "depth max": ("depth max", "S")},
}
"""The fourteen measures of Lu (2010) and those of depth: numerators and denominators."""

_PLACES = {name: place for place, name in enumerate(COUNTED)}
_OVER = np.array([_PLACES[name] for name, _ in RATIOS.values()])
_UNDER = np.array([_PLACES[name] for _, name in RATIOS.values()])
_FREQUENCIES = COUNTED[:9]
_NEGLIGIBLE = 1e-9


class Row(NamedTuple):
    """A measure of a sentence or text; None where 0 would be divided by 0."""

    measure: str
    value: float | None
    """The value in the most probable trees."""
    expected: float | None
    """The expected value over all trees."""
    parses: float | None
    """The standard deviation over trees: uncertainty from not knowing the correct parses."""
    sentences: float | None = None
    """The standard error over sentences: sampling error of the text. None for frequencies, and for
    one sentence."""


class Difference(NamedTuple):
    """A measure of two texts."""

    measure: str
    first: float | None
    second: float | None
    """The expected value in the second text; ``first`` is that in the first."""
    difference: float | None
    parses: float | None
    sentences: float | None
    """The standard error of the difference over sentences, as in ``Row``."""
    z: float | None
    """The difference divided by the uncertainty from parses and sentences together."""


class Counted(NamedTuple):
    """The counts in each tree of a sentence."""

    file: str
    line: int
    counts: Values
    """[K, len(COUNTED)]"""
    weights: Values
    """[K], the probabilities of the trees."""

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def of(cls, parses: Parses) -> Counted:
        """Count the structures of trees. Raises TreeError as ``structures.counts``."""
        rows = np.array([counts(tree) for tree in parses.trees])
        return cls(parses.file, parses.line, rows, np.array(parses.probabilities or (1.0,)))

    def plain(self) -> tuple[Any, ...]:
        """Return the counts as ``from_plain`` takes them, without arrays."""
        return self.file, self.line, self.counts.tolist(), self.weights.tolist()

    @classmethod
    def from_plain(cls, file: str, line: int, counts: Any, weights: Any) -> Counted:
        return cls(file, line, np.array(counts), np.array(weights))

    def rows(self) -> Iterator[Row]:
        """Yield the measures of the sentence. The expected value of a ratio is over the trees that
        define it."""
        frequencies = self.counts[:, : len(_FREQUENCIES)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.counts[:, _OVER] / self.counts[:, _UNDER]
        ratios[self.counts[:, _UNDER] == 0] = np.nan
        for name, column in zip(
            (*_FREQUENCIES, *RATIOS), np.hstack([frequencies, ratios]).T, strict=True
        ):
            weights = np.where(np.isnan(column), 0.0, self.weights)
            if not (total := weights.sum()):
                yield Row(name, None, None, None)
                continue
            column_or_zero = np.nan_to_num(column)
            mean = float(column_or_zero @ weights / total)
            variance = float((column_or_zero - mean) ** 2 @ weights / total)
            yield Row(name, _number(column[0]), mean, math.sqrt(variance))


class Totals:
    """The sums over the sentences of a text. The memory is the same for any number of sentences."""

    def __init__(self) -> None:
        size = len(COUNTED)
        self.sentences = 0
        self._first = np.zeros(size)  # of the most probable trees
        self._expected = np.zeros(size)
        self._over_parses = np.zeros((size, size))  # sum of each sentence's covariance
        self._products = np.zeros((size, size))  # sum of products of each sentence's expectations

    def add(self, counted: Counted) -> None:
        expected = counted.weights @ counted.counts
        centred = counted.counts - expected
        self.sentences += 1
        self._first += counted.counts[0]
        self._expected += expected
        self._over_parses += (counted.weights[:, None] * centred).T @ centred
        self._products += np.outer(expected, expected)

    def rows(self) -> Iterator[Row]:
        """Yield the measures of the text: ratios of sums, and to the first order their standard
        deviations, as parses and sentences are independent of each other."""
        for place, name in enumerate(_FREQUENCIES):
            spread = math.sqrt(max(0.0, self._over_parses[place, place]))
            yield Row(name, self._first[place].item(), self._expected[place].item(), spread)
        for name, over, under in zip(RATIOS, _OVER, _UNDER, strict=True):
            value = _number(self._first[over] / self._first[under]) if self._first[under] else None
            if not self._expected[under]:
                yield Row(name, value, None, None)
                continue
            ratio = self._expected[over] / self._expected[under]
            gradient = np.zeros(len(COUNTED))
            gradient[over] += 1 / self._expected[under]
            gradient[under] -= ratio / self._expected[under]
            parses = math.sqrt(max(0.0, float(gradient @ self._over_parses @ gradient)))
            between = max(0.0, float(gradient @ self._products @ gradient))
            count = self.sentences
            error = math.sqrt(between * count / (count - 1)) if count > 1 else None
            yield Row(name, value, float(ratio), parses, error)


def differences(first: Totals, second: Totals) -> Iterator[Difference]:
    """Yield the measures of two texts beside each other, frequencies left out."""
    for one, other in zip(first.rows(), second.rows(), strict=True):
        if one.measure not in RATIOS:
            continue
        values = one.measure, one.expected, other.expected
        if one.expected is None or other.expected is None:
            yield Difference(*values, None, None, None, None)
            continue
        difference = other.expected - one.expected
        parses = math.hypot(one.parses or 0.0, other.parses or 0.0)
        sentences = z = None
        if one.sentences is not None and other.sentences is not None:
            sentences = math.hypot(one.sentences, other.sentences)
            both = math.hypot(parses, sentences)
            z = difference / both if both > _NEGLIGIBLE else None
        yield Difference(*values, difference, parses, sentences, z)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
