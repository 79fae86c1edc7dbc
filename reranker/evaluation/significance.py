"""Tests of differences in corpus F1: whether one parser is really better than another.

Corpus F1 is not a mean over sentences, so no t-test applies; both tests here compute it again from
brackets drawn sentence by sentence. Both systems are drawn together: a sentence is about equally
hard for both, and only the difference matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.evaluation.brackets import corpus_f1, f1_by_row

SAMPLES = 10_000
SEED = 12345

Counts = NDArray[np.int64]  # [S, 3] matched, gold and test brackets of each sentence
Figures = NDArray[np.float64]

_AT_ONCE = 2_000_000  # numbers drawn at a time
_TIE = 1e-9  # percent; differences closer than this are equal but for rounding


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system compared with the first one; F1 and differences in percent."""

    f1: float
    difference: float
    low: float  # 95% of the bootstrap's differences lie from here
    high: float  # to here
    bootstrap_p: float
    randomisation_p: float


def compare(first: Counts, second: Counts, samples: int = SAMPLES, seed: int = SEED) -> Comparison:
    """Run both tests of ``second`` against ``first``, which hold the same sentences in the same
    order."""
    difference = corpus_f1(second) - corpus_f1(first)
    drawn = bootstrap_differences(first, second, samples, seed)
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return Comparison(
        f1=corpus_f1(second),
        difference=difference,
        low=low,
        high=high,
        bootstrap_p=_p(np.abs(drawn - drawn.mean()), difference),
        randomisation_p=randomisation_p(first, second, samples, seed),
    )


def bootstrap_differences(first: Counts, second: Counts, samples: int, seed: int) -> Figures:
    """Return [samples] F1 of ``second`` less that of ``first`` on sentences drawn with replacement,
    as many as there are (Koehn 2004, *Statistical Significance Tests for Machine Translation
    Evaluation*)."""
    sentences = len(first)

    def draw(random: np.random.Generator, number: int) -> Figures:
        drawn = random.integers(sentences, size=(number, sentences))
        drawn += np.arange(number)[:, None] * sentences
        times = np.bincount(drawn.ravel(), minlength=number * sentences).astype(np.float64)
        times = times.reshape(number, sentences)
        f1, other_f1 = (f1_by_row(times @ counts.astype(np.float64)) for counts in (second, first))
        return f1 - other_f1

    return _sampled(draw, sentences, samples, seed)


def randomisation_p(
    first: Counts, second: Counts, samples: int = SAMPLES, seed: int = SEED
) -> float:
    """Return the share of ways to swap the two systems' answers, sentence by sentence, that make
    them differ in F1 at least as much as they do (Noreen 1989; Riezler & Maxwell 2005).

    ``samples`` of the 2 ** S ways are drawn; the observed one counts too, so that p is never 0.
    """
    change = second - first
    change = change[change.any(1)].astype(np.float64)  # swapping equals changes nothing
    together = (first + second).sum(0)

    def draw(random: np.random.Generator, number: int) -> Figures:
        signs = random.integers(2, size=(number, len(change)), dtype=np.int8) * 2.0 - 1
        apart = signs @ change
        return np.abs(f1_by_row((together + apart) / 2) - f1_by_row((together - apart) / 2))

    drawn = _sampled(draw, len(change), samples, seed)
    return _p(drawn, corpus_f1(second) - corpus_f1(first))


def _sampled(
    draw: Callable[[np.random.Generator, int], Figures], width: int, samples: int, seed: int
) -> Figures:
    """Compute ``samples`` figures, as many at a time as fit into memory."""
    random = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // max(1, width))
    starts = range(0, samples, step)
    return np.concatenate([draw(random, min(step, samples - start)) for start in starts])


def _p(drawn: Figures, observed: float) -> float:
    """Return the two-sided p; the observed difference counts as one of the random ones."""
    return (int((drawn >= abs(observed) - _TIE).sum()) + 1) / (len(drawn) + 1)
