"""oneDNN's products beside torch's own."""

from __future__ import annotations

import gc
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models import Config, products
from reranker.models.layer import LstmLayer
from reranker.models.products import bulk_rows, linear, packed, step_rows
from tests.models.settings import build

INPUTS = torch.linspace(-1, 1, 32 * 16).view(32, 16)


def example(rows: int, size: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    return (
        torch.randn(rows, size, generator=generator),
        torch.randn(outputs, size, generator=generator),
        torch.randn(outputs, generator=generator),
    )


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize(("rows", "size", "outputs"), [(1, 7, 5), (4, 320, 1_280), (960, 250, 78)])
def test_a_product_is_torchs(
    works: bool, rows: int, size: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not works:
        monkeypatch.setattr(products, "use_one_dnn", False)
    inputs, weight, bias = example(rows, size, outputs)
    owner = nn.Module()
    expected = functional.linear(inputs.double(), weight.double(), bias.double())
    with torch.inference_mode():
        for some in (weight, packed(owner, weight)):
            assert (linear(inputs, some, bias).double() - expected).abs().max() < 1e-4
            without_bias = linear(inputs, some).double() + bias
            assert (without_bias - expected).abs().max() < 1e-4
            activated = linear(inputs, some, bias, gelu=True).double()
            assert (activated - functional.gelu(expected)).abs().max() < 1e-4


def test_gradients_flow_through_torchs_own() -> None:
    inputs, weight, bias = example(3, 4, 5)
    weight.requires_grad_()
    linear(inputs, weight, bias).sum().backward()
    assert weight.grad is not None
    assert torch.allclose(weight.grad, inputs.sum(0).expand(5, 4))


def test_what_is_packed_goes_with_its_owner() -> None:
    _, weight, _ = example(8, 32, 64)
    gc.collect()  # what other tests have left
    count = len(products._packed)
    owner = nn.Module()
    with torch.no_grad():
        packed(owner, weight)
    assert len(products._packed) == count + products.one_dnn_works()
    del owner
    gc.collect()
    assert len(products._packed) == count


def test_rows_come_in_few_numbers() -> None:
    for count in range(1, 3_000):
        assert count <= bulk_rows(count) <= 1.5 * count + 31
        assert count <= step_rows(count, 4) <= 1.5 * count + 3
        assert step_rows(count, 16) % 16 == 0
        assert bulk_rows(count) % products.ROW_MULTIPLE == 0
    assert len({bulk_rows(count) for count in range(1, 961)}) == 11
    assert len({step_rows(count, 4) for count in range(1, 961)}) < 30


def off(layer: LstmLayer) -> float:
    """Return the distance of the packed product from torch's own."""
    weight = layer.recurrent_weight
    with torch.no_grad():
        product = linear(INPUTS, packed(layer, weight))
        return float((product - functional.linear(INPUTS, weight)).abs().max())


def test_a_weight_that_takes_another_s_place_in_memory() -> None:
    layer = LstmLayer(8, 16, 0.0).requires_grad_(False)
    assert off(layer) < 1e-5
    for _ in range(30):
        del layer.recurrent_weight
        layer.recurrent_weight = nn.Parameter(torch.randn(64, 16), requires_grad=False)
        assert off(layer) < 1e-5


def test_a_weight_that_learns() -> None:
    layer = LstmLayer(8, 16, 0.0)
    optimizer = torch.optim.AdamW([layer.recurrent_weight], fused=True)
    for _ in range(3):
        assert off(layer) < 1e-5
        layer.recurrent_weight.grad = torch.ones(64, 16)
        optimizer.step()


def test_a_weight_changed_in_place() -> None:
    layer = LstmLayer(8, 16, 0.0).requires_grad_(False)
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


def test_the_trial_of_one_dnn_is_in_float32_wherever_it_is_asked_first() -> None:
    """Training in bfloat16 may be the first to ask."""
    here = products.one_dnn_works.__wrapped__()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert products.one_dnn_works.__wrapped__() is here


def test_an_lstm_is_torchs_to_the_last_bit() -> None:
    """Over several calls, of inputs and states that are parts of larger ones; after a change of its
    weights; and while they learn, when nothing is packed."""
    layer = LstmLayer(13, 8, 0.0).eval().requires_grad_(False)
    inputs = torch.randn(9, 6, 13)

    def check() -> None:
        expected, states = layer(inputs[:, :5], layer.initial_state(5))
        state = tuple(torch.zeros(6, 8)[1:] for _ in range(2))
        parts = []
        for start, end in pairwise([0, 1, 3, 8, 9]):
            part, state = layer.read(inputs[start:end, :5], state)
            parts.append(part)
        assert torch.equal(torch.cat(parts), expected)
        assert all(map(torch.equal, state, states))

    with torch.no_grad():
        check()
        assert (layer in products._packed_lstms) is products.one_dnn_lstm_works()
        layer.input_weight.mul_(2)
        check()
        layer.recurrent_weight.data = layer.recurrent_weight * 3
        check()
        layer.requires_grad_(True)
        check()
