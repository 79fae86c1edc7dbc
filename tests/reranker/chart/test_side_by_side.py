"""Charts that are filled side by side against each alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from reranker.chart.best import Chart, charts
from reranker.chart.k_best import k_best
from reranker.chart.marginals import marginals, marginals_of_each
from tests.reranker.chart.trees import random_gains

LENGTHS = [1, 2, 7, 3, 12, 1, 5, 33, 34, 40]


@pytest.mark.parametrize("seed", range(3))
def test_trees_depend_on_no_other_sentence(seed: int) -> None:
    gains = [random_gains(words, 4, seed + words) for words in LENGTHS]
    for own, beside in zip(gains, charts(gains), strict=True):
        alone = Chart(own)
        assert beside.best() == alone.best() and beside.score == alone.score
        assert k_best(beside, 20) == k_best(alone, 20)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("temperature", [1.0, 1.3])
def test_marginals_depend_on_no_other_sentence(seed: int, temperature: float) -> None:
    gains = [random_gains(words, 4, seed + words) for words in LENGTHS]
    for own, beside in zip(gains, marginals_of_each(gains, temperature), strict=True):
        alone = marginals(own, temperature)
        assert np.array_equal(beside.places, alone.places)
        assert np.array_equal(beside.probabilities, alone.probabilities)
        assert (beside.log_partition, beside.entropy) == (alone.log_partition, alone.entropy)
