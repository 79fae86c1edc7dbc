"""The temperature under which dev trees are most probable."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from reranker.models.span_model import SpanModel
from reranker.plugins.training.spans.sentences import LabelledSentence, WordTable
from reranker.plugins.training.spans.temperature import _gains, fitted_temperature
from tests.reranker.span_models import untrained_spans

MODEL: SpanModel = untrained_spans(1).model
TABLE = WordTable(torch.tensor([1, 3, 2]), torch.tensor([[0, -1]] * 3), torch.tensor([2, 2, 2]))


def sentence(*constituents: tuple[int, int, int]) -> LabelledSentence:
    return LabelledSentence(
        np.array([0, 1, 1, 1, 2], np.int32), np.array(constituents, np.int32), []
    )


def loss(sentences: list[LabelledSentence], temperature: float) -> float:
    from reranker.chart.marginals import log_partition

    pairs = [_gains(MODEL, each, TABLE) for each in sentences]
    return sum(log_partition(gains, temperature) - gold / temperature for gains, gold in pairs)


def test_it_makes_the_trees_most_probable() -> None:
    sentences = [sentence((0, 3, 2)), sentence((0, 3, 3), (0, 2, 2)), sentence((1, 3, 4))]
    best = fitted_temperature(MODEL, sentences, TABLE)
    grid = [math.exp(step / 20) for step in range(-25, 26)]
    assert loss(sentences, best) <= min(loss(sentences, each) for each in grid) + 1e-3


def test_without_a_usable_sentence_it_is_one() -> None:
    assert fitted_temperature(MODEL, [sentence((0, 3, 1))], TABLE) == 1.0
    assert fitted_temperature(MODEL, [], TABLE) == 1.0


def test_the_model_is_left_as_it_was() -> None:
    before = {name: weight.clone() for name, weight in MODEL.named_parameters()}
    fitted_temperature(MODEL, [sentence((0, 3, 2))], TABLE)
    assert all(torch.equal(weight, before[name]) for name, weight in MODEL.named_parameters())


@pytest.mark.parametrize("value", ["hot", 0.0, math.nan, math.inf, None])
def test_no_temperature(value: object) -> None:
    from pathlib import Path

    from reranker.errors import InputError
    from reranker.parsers.chart import _temperature

    with pytest.raises(InputError, match="temperature must be a number"):
        _temperature(Path("m.pt"), value)
