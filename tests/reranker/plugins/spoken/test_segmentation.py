"""The best segmentation and the probabilities of ends, against all segmentations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reranker.plugins.spoken.segmentation import Values, best_ends, end_probabilities

WORDS = 8


def every_segmentation(scores: Values) -> list[tuple[float, tuple[int, ...]]]:
    """Return the score and the ends of all segmentations into sentences that are not too long."""
    words, longest = len(scores), scores.shape[1] - 1
    found = []
    for count in range(words):
        for inner in itertools.combinations(range(1, words), count):
            ends = (*inner, words)
            spans = list(zip((0, *inner), ends, strict=True))
            if all(end - start <= longest for start, end in spans):
                found.append((sum(scores[start, end - start] for start, end in spans), ends))
    return found


@pytest.mark.parametrize("longest", [1, 3, WORDS, WORDS + 5])
@pytest.mark.parametrize("seed", range(3))
def test_against_enumeration(longest: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(WORDS, longest + 1), scale=2.0)
    found = every_segmentation(scores)
    assert tuple(best_ends(scores)) == max(found)[1]
    weights = np.exp([score for score, _ in found])
    expected = np.zeros(WORDS + 1)
    for weight, (_, ends) in zip(weights / weights.sum(), found, strict=True):
        expected[list(ends)] += weight
    probabilities = end_probabilities(scores)
    assert probabilities[1:] == pytest.approx(expected[1:])
    assert probabilities[WORDS] == pytest.approx(1.0)


def test_no_sentence_is_longer_than_the_limit() -> None:
    scores = np.tile(np.array([0.0, -9.0, -9.0, 5.0]), (10, 1))
    assert np.diff([0, *best_ends(scores)]).max() == 3
