"""The most probable sentences of some words, and how probable each end is, if P(segmentation) is
proportional to exp(the sum of its sentences' scores): a semi-Markov model (Sarawagi & Cohen 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def best_ends(scores: Values) -> list[int]:
    """Return the ends of the best sentences, the last word's included. ``scores`` are those of a
    sentence by its first word and its number of words, [n, longest + 1]; column 0 is not read.

    >>> best_ends(np.array([[0.0, 1.0, 1.5], [0.0, 1.0, 0.0]]))
    [1, 2]
    """
    words = len(scores)
    best, lengths = np.zeros(words + 1), [0] * (words + 1)
    for end in range(1, words + 1):
        totals = best[_starts(scores, end)] + _of_sentences(scores, end)
        lengths[end] = len(totals) - int(totals.argmax())
        best[end] = totals.max()
    ends = [words]
    while ends[-1]:
        ends.append(ends[-1] - lengths[ends[-1]])
    return ends[-2::-1]


def end_probabilities(scores: Values) -> Values:
    """Return the probability that a sentence ends before each word, and after the last, [n + 1]."""
    words = len(scores)
    before, behind = np.zeros(words + 1), np.zeros(words + 1)  # log sums over segmentations
    for end in range(1, words + 1):
        totals = before[_starts(scores, end)] + _of_sentences(scores, end)
        before[end] = np.logaddexp.reduce(totals)
    for start in range(words - 1, -1, -1):
        longest = min(scores.shape[1] - 1, words - start)
        totals = scores[start, 1 : longest + 1] + behind[start + 1 : start + longest + 1]
        behind[start] = np.logaddexp.reduce(totals)
    probabilities: Values = np.exp(before + behind - before[words])
    return probabilities


def _starts(scores: Values, end: int) -> slice:
    return slice(max(0, end - scores.shape[1] + 1), end)


def _of_sentences(scores: Values, end: int) -> Values:
    """Return the scores of the sentences with this end, the longest first."""
    starts = np.arange(max(0, end - scores.shape[1] + 1), end)
    values: Values = scores[starts, end - starts]
    return values
