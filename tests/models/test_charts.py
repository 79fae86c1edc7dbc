"""Charts of several sentences at once against those of one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reranker.chart.best import Chart, Gains, Values
from reranker.chart.marginals import marginals
from reranker.models.charts import best_trees, constituent_probabilities
from tests.reranker.chart.trees import random_gains

LENGTHS = [1, 2, 7, 3, 12, 1, 5]


def gains_of_all(seed: int) -> list[Gains]:
    return [random_gains(words, 3, seed + number) for number, words in enumerate(LENGTHS)]


def together(scores: list[Values]) -> torch.Tensor:
    """Return scores [n, n] by first and last word as scores by sentence, start and width; what no
    sentence has is large, since nobody must look at it."""
    longest = max(LENGTHS)
    labels = torch.full((len(scores), longest, longest + 1), 50.0, dtype=torch.float64)
    for number, own in enumerate(scores):
        for start, last in zip(*np.triu_indices(len(own)), strict=True):
            labels[number, start, last + 1 - start] = float(own[start, last])
    return labels


@pytest.mark.parametrize("seed", range(3))
def test_best_trees_are_those_of_each_sentence(seed: int) -> None:
    gains = gains_of_all(seed)
    scores, spans = best_trees(together([each.best() for each in gains]), torch.tensor(LENGTHS))
    expected = [Chart(each).best() for each in gains]
    assert scores.tolist() == pytest.approx([tree.score for tree in expected])
    assert spans.tolist() == [
        [number, span.start, span.end - span.start]
        for number, tree in enumerate(expected)
        for span in tree.spans
    ]


def test_equal_trees() -> None:
    """The one without brackets is first."""
    scores, spans = best_trees(torch.zeros(2, 2, 3), torch.tensor([2, 1]))
    assert scores.tolist() == [0, 0] and spans.tolist() == []


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_each_sentence(seed: int) -> None:
    gains = gains_of_all(seed)
    labels = [np.logaddexp.reduce(each.labels - each.none[:, :, None], 2) for each in gains]
    sums, found = constituent_probabilities(together(labels), torch.tensor(LENGTHS))
    for number, words in enumerate(LENGTHS):
        expected = marginals(gains[number])
        dense = torch.zeros_like(found[number])
        starts, lasts = expected.places.T
        dense[starts, lasts + 1 - starts] = torch.tensor(expected.probabilities.sum(1))
        assert float(sums[number]) == pytest.approx(expected.log_partition)
        torch.testing.assert_close(found[number], dense, atol=1e-11, rtol=0)
        assert not found[number, words:].any()
