"""Marginals against the sum over all trees."""

from __future__ import annotations

import numpy as np
import pytest

from reranker.chart.best import Chart, Values
from reranker.chart.marginals import Marginals, log_partition, marginals
from tests.reranker.chart.trees import all_trees, gains_of, random_gains, score


def dense(computed: Marginals, words: int) -> Values:
    spans = np.zeros((words, words, computed.probabilities.shape[1]))
    spans[tuple(computed.places.T)] = computed.probabilities
    return spans


@pytest.mark.parametrize(("words", "labels"), [(1, 1), (1, 3), (2, 2), (3, 2), (4, 2)])
@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_the_sum_over_all_trees(words: int, labels: int, temperature: float) -> None:
    gains = random_gains(words, labels, words)
    trees = list(all_trees(words, labels))
    weights = np.exp([score(tree, gains) / temperature for tree in trees])
    shares = weights / weights.sum()
    expected = np.zeros((words, words, labels))
    for tree, share in zip(trees, shares, strict=True):
        for start, end, label in tree:
            expected[start, end - 1, label] += share
    computed = marginals(gains, temperature)
    np.testing.assert_allclose(dense(computed, words), expected, atol=1e-11)
    assert computed.log_partition == pytest.approx(np.log(weights.sum()))
    assert computed.log_partition == log_partition(gains, temperature)
    assert computed.entropy == pytest.approx(-float((shares * np.log(shares)).sum()))


def test_one_certain_tree() -> None:
    gains = np.full((6, 6, 3), -800.0)
    gains[0, 5, 2] = gains[1, 3, 0] = 800.0
    computed = marginals(gains_of(gains))
    spans = dense(computed, 6)
    assert spans[0, 5, 2] == pytest.approx(1) == spans[1, 3, 0]
    assert spans.sum() == pytest.approx(2)
    assert computed.entropy == pytest.approx(0, abs=1e-9)


def test_the_best_tree_is_not_more_probable_than_all_together() -> None:
    gains = random_gains(30, 5, 3)
    assert Chart(gains).score < marginals(gains).log_partition
    assert marginals(gains).probabilities.max() <= 1 + 1e-9
