"""Products of 8-bit integers against float64."""

from __future__ import annotations

import copy
import math
import pickle
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from reranker.models import mixture
from reranker.models.config import Config
from reranker.models.language_model import LanguageModel
from reranker.models.layer import LstmLayer
from reranker.models.products import (
    EightBits,
    FloatWeight,
    eight_bit_weight,
    eight_bits,
    eight_bits_work,
    one_dnn_works,
)
from tests.models.settings import build

WORDS, SIZE = 6_000, 60


def output(largest: int = 127, words: int = WORDS) -> tuple[Tensor, Tensor]:
    """Draw integers with a scale per row, as a file holds them, and biases that fall as frequencies
    do."""
    integers = torch.randint(-largest, largest + 1, (words, SIZE))
    integers[:, 0] = largest  # the widest number of a row has no rounding
    integers[5] = 0
    scales = torch.rand(words, 1) * 0.003 + 0.001
    return integers * scales, -1.5 * torch.arange(1, words + 1).log()


def layer_weight(outputs: int, inputs: int) -> Tensor:
    """Draw a weight [outputs, inputs] of 8-bit integers with a scale per row."""
    integers = torch.randint(-127, 128, (outputs, inputs))
    integers[:, 0] = 127
    return integers * (torch.rand(outputs, 1) * 0.001 + 0.0005)


def log_sums(weight: Tensor, bias: Tensor, rows: Tensor) -> Tensor:
    """Compute the normalisers in float64."""
    return torch.logsumexp(rows.double() @ weight.double().T + bias.double(), 1)


def rounded(weight: Tensor, bias: Tensor) -> EightBits | None:
    """Return None only on a processor without such products, whose sums are of float32."""
    found = eight_bits(weight, bias)
    assert (found is not None) == eight_bits_work()
    return found


def test_they_work_where_the_processor_has_them() -> None:
    assert eight_bits_work() is torch.cpu._is_vnni_supported()


@pytest.mark.parametrize("largest", [127, 31])
@pytest.mark.parametrize("count", [1, 33, 200, 400])
def test_normalisers_are_nearly_those_of_float64(largest: int, count: int) -> None:
    weight, bias = output(largest)
    rows = torch.tanh(torch.randn(count, SIZE))
    rows[0, :3] = torch.tensor([1.0, -1.0, 0.0])
    with torch.inference_mode():
        found = mixture.log_normalisers(rows.unsqueeze(1), weight, bias, rounded(weight, bias))
    assert found.shape == (count, 1)
    assert torch.allclose(found.squeeze(1).double(), log_sums(weight, bias, rows), atol=1e-3)


def test_frequent_symbols_have_as_many_digits_as_in_float32() -> None:
    """Whose rows end within those that are computed in two parts."""
    weight, bias = output(words=3_000)
    rows = torch.tanh(torch.randn(64, SIZE))
    with torch.inference_mode():
        found = mixture.log_normalisers(rows.unsqueeze(1), weight, bias, rounded(weight, bias))
    assert torch.allclose(found.squeeze(1).double(), log_sums(weight, bias, rows), atol=2e-5)


def test_a_row_does_not_depend_on_the_others() -> None:
    weight, bias = output()
    packed = rounded(weight, bias)
    rows = torch.tanh(torch.randn(500, 1, SIZE))
    with torch.inference_mode():
        together = mixture.log_normalisers(rows, weight, bias, packed)
        for first, last in pairwise([0, 1, 7, 40, 232, 500]):
            apart = mixture.log_normalisers(rows[first:last], weight, bias, packed)
            assert torch.equal(apart, together[first:last])


def test_sums_beyond_the_number_range_are_right() -> None:
    weight, bias = output()
    rows = torch.tanh(torch.randn(3, SIZE))
    for shift in (100.0, -120.0):
        packed = rounded(weight, bias + shift)
        with torch.inference_mode():
            found = mixture.log_normalisers(rows.unsqueeze(1), weight, bias + shift, packed)
        expected = log_sums(weight, bias + shift, rows)
        assert torch.allclose(found.squeeze(1).double(), expected, atol=1e-3)


def test_the_blocks_are_all_of_the_vocabulary() -> None:
    weight, bias = output()
    rows = torch.tanh(torch.randn(9, SIZE))
    packed = rounded(weight, bias)
    if packed is None:
        return
    with torch.inference_mode():
        logits = torch.cat([*packed.scaled_logits(rows)], 1) * math.log(2)
    exact = rows.double() @ weight.double().T + bias
    assert logits.shape == (9, WORDS)
    error = (logits.double() - exact).abs()
    assert error[:, :4_000].max() < 1e-4
    assert 1e-3 < error.max() < 0.05


def test_a_weight_of_more_bits_is_left_alone() -> None:
    weight, bias = output()
    weight[WORDS - 1, 3] *= 1.001
    assert eight_bits(weight, bias) is None
    assert eight_bits(torch.randn(40, SIZE), torch.zeros(40)) is None


def test_a_weight_whose_first_rows_are_zero_is_known() -> None:
    weight, bias = output(31)
    weight[:40] = 0
    assert (rounded(weight, bias) is None) is not eight_bits_work()


@pytest.mark.parametrize(("activation", "is_bounded"), [("tanh", True), ("none", False)])
def test_only_numbers_from_minus_1_to_1_are_multiplied(activation: str, is_bounded: bool) -> None:
    config = Config(
        40, SIZE, (24,), components=(0, 2), component_activation=activation, embedding_range=1.0
    )
    model = build("awd-lstm-doc: DOC", config).requires_grad_(False)
    with torch.no_grad():
        model.embedding.copy_(output(words=40)[0])
    model.round_products()
    assert (model.rounded is not None) is (is_bounded and eight_bits_work())


def test_a_copy_computes_in_float32() -> None:
    model = build("awd-lstm-doc: DOC", Config(40, SIZE, (24,), components=(0, 2)))
    model.requires_grad_(False)
    model.embedding.copy_(output(words=40)[0])
    model.round_products()
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert made.rounded is None
        assert torch.equal(made.embedding, model.embedding)


def test_a_layer_s_product_is_nearly_that_of_float64() -> None:
    weight = layer_weight(1_200, 300)
    found = eight_bit_weight(weight)
    assert (found is not None) == eight_bits_work()
    if found is None:
        return
    rows = torch.tanh(torch.randn(70, 300))
    rows[0, :4] = torch.tensor([1.0, -1.0, 0.0, 1e-9])
    with torch.inference_mode():
        together = found.product(rows)
        assert (together.double() - rows.double() @ weight.double().T).abs().max() < 1e-4
        for first, last in pairwise([0, 1, 5, 38, 70]):
            assert torch.equal(found.product(rows[first:last].clone()), together[first:last])


def test_rows_of_numbers_of_any_size() -> None:
    weight, bias = layer_weight(1_200, 300), torch.randn(1_200)
    found = eight_bit_weight(weight)
    if found is None:
        assert not eight_bits_work()
        return
    rows = torch.randn(40, 300) * torch.logspace(-20, 10, 40).unsqueeze(1)
    rows[7] = 0
    expected = rows.double() @ weight.double().T + bias
    largest = rows.double().abs().amax(1, keepdim=True)
    with torch.inference_mode():
        together = found.linear(rows, bias)
        assert ((together - expected).abs() <= 2e-4 * largest + 1e-6 * expected.abs()).all()
        activated = found.linear(rows, bias, gelu=True)
        assert torch.equal(activated, functional.gelu(together))
        for first, last in pairwise([0, 1, 8, 40]):
            assert torch.equal(found.linear(rows[first:last], bias), together[first:last])


def test_inputs_are_rounded_to_the_nearest_part() -> None:
    """They are 127 steps of 256 from 0 to 1, with a zero that no sign can miss."""
    weight = torch.full((600, 600), 0.5)
    found = eight_bit_weight(weight)
    if found is None:
        assert not eight_bits_work()
        return
    rows = torch.zeros(5_002, 600)
    steps = torch.arange(-32_512, 32_513, 13)
    with torch.inference_mode():
        for shift in (-0.49, 0.0, 0.49):
            numbers = (steps + shift).div(32_512).clamp(-1, 1)
            rows[:, 0] = numbers
            product = found.product(rows)[:, 0]
            assert torch.equal((product * 2 * 32_512).round().long(), steps)


def test_a_weight_of_float32_is_packed() -> None:
    """Several numbers of rows, padded or not, and inputs of three dimensions."""
    if not one_dnn_works():
        pytest.skip("this torch has no oneDNN")
    weight, bias = torch.randn(24, 40), torch.randn(24)
    found = FloatWeight(weight)
    with torch.inference_mode():
        for shape in ((1, 40), (4, 40), (7, 3, 40), (300, 40)):
            inputs = torch.randn(shape)
            for own in (None, bias):
                expected = functional.linear(inputs, weight, own)
                assert torch.allclose(found.linear(inputs, own), expected, atol=1e-5)
    assert copy.deepcopy(found) is None


def test_a_small_weight_of_a_layer_stays_in_float32() -> None:
    assert eight_bit_weight(layer_weight(1_000, 299)) is None


@pytest.fixture
def stored() -> LanguageModel:
    """Return a model of two layers with weights of 8 bits, as a file holds them."""
    model = build("awd-lstm-doc: DOC", Config(40, 280, (280, 280), components=(0, 0, 1)))
    model.requires_grad_(False)
    model.embedding.copy_(layer_weight(40, 280) * 40)  # beyond 1, too
    for layer in model.layers:
        assert isinstance(layer, LstmLayer)
        layer.input_weight.copy_(layer_weight(1_120, 280))
        layer.recurrent_weight.copy_(layer_weight(1_120, 280))
    return model


def outputs_of(model: LanguageModel, tokens: Tensor) -> Tensor:
    """Return the last layer's outputs of each step, [T, B, H]."""
    state, outputs = model.initial_state(tokens.shape[1]), []
    for some in tokens:
        features, state = model.step(some, state)
        outputs.append(features.output)
    return torch.stack(outputs)


def test_layers_compute_nearly_as_in_float32(stored: LanguageModel) -> None:
    tokens = torch.randint(0, 40, (12, 8))
    exact = outputs_of(stored, tokens)
    assert not stored.is_rounded
    stored.round_products()
    found = outputs_of(stored, tokens)
    assert stored.is_rounded is eight_bits_work()
    assert torch.equal(found, exact) is not eight_bits_work()
    assert (found - exact).abs().max() < 1e-4 < exact.abs().max()
    for made in (copy.deepcopy(stored), pickle.loads(pickle.dumps(stored))):
        assert not made.is_rounded and torch.equal(outputs_of(made, tokens), exact)


def test_embeddings_are_multiplied_in_float32(stored: LanguageModel) -> None:
    """They have numbers beyond 1; what layers give has none."""
    stored.round_products()
    first, second = (layer.rounded for layer in stored.layers if isinstance(layer, LstmLayer))
    works = eight_bits_work()
    assert [each is not None for each in (*first, *second)] == [False, works, works, works]
