"""Products for scoring are torch's, whatever happened to the weight before."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from reranker.models import Config
from reranker.models.layer import LstmLayer
from reranker.models.products import linear, packed
from tests.models.settings import build

INPUTS = torch.linspace(-1, 1, 32 * 16).view(32, 16)


def off(layer: LstmLayer) -> float:
    """How far the packed product is from torch's own."""
    weight = layer.recurrent_weight
    with torch.no_grad():
        product = linear(INPUTS, packed(layer, weight))
        return float((product - functional.linear(INPUTS, weight)).abs().max())


def test_a_weight_that_takes_another_s_place_in_memory() -> None:
    layer = LstmLayer(8, 16, 0.0)
    assert off(layer) < 1e-5
    for _ in range(30):
        del layer.recurrent_weight
        layer.recurrent_weight = nn.Parameter(torch.randn(64, 16))
        assert off(layer) < 1e-5


def test_a_weight_changed_in_place() -> None:
    layer = LstmLayer(8, 16, 0.0)
    assert off(layer) < 1e-5
    with torch.no_grad():
        layer.recurrent_weight.mul_(-2)
    assert off(layer) < 1e-5
    layer.load_state_dict({name: -value for name, value in layer.state_dict().items()})
    assert off(layer) < 1e-5


def test_a_weight_made_for_inference() -> None:
    with torch.inference_mode():
        layer = LstmLayer(8, 16, 0.0)
    assert off(layer) < 1e-5


@pytest.mark.parametrize("width", [33, 42, 158])  # no multiples of 4
def test_a_row_s_mixture_is_the_same_to_the_last_bit_whatever_is_beside_it(width: int) -> None:
    config = Config(9, 12, (width,), components=(0, 3), embedding_range=1.0)
    model = build("awd-lstm-doc: DOC", config)
    outputs = torch.randn(960, width)
    with torch.inference_mode():
        _, together = model.mixed([outputs])
        for start in range(7, 900, 17):
            some = slice(start, start + 32)
            _, few = model.mixed([outputs[some].clone()])
            assert torch.equal(few, together[some])
