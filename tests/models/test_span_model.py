"""Span models against the equations written out for one span at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from reranker.models import products
from reranker.models.layer import LstmLayer
from reranker.models.piece_encoder import PieceConfig
from reranker.models.span_model import SpanConfig, SpanModel, span_ends, span_numbers

CONFIG = SpanConfig(
    7, 5, 4, 6, 3, spelling_rows=9, spelling_size=5, hidden_sizes=(8, 6), span_size=7
)
PLAIN = replace(
    CONFIG, input_dropout=0.0, hidden_dropout=0.0, span_dropout=0.0, recurrent_weight_dropout=0.0
)


def build(config: SpanConfig = CONFIG, seed: int = 1) -> SpanModel:
    torch.manual_seed(seed)
    model = SpanModel(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return model.eval()


def sentence(words: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Return words [n + 2] and features [n + 2, F] with the maximal number of n-grams."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, 7, (words + 2,), generator=generator)
    features = torch.randint(-1, 9, (words + 2, 4), generator=generator)
    features[:, 0] = torch.randint(0, 5, (words + 2,), generator=generator)
    return rows, features


def lstm(layer: LstmLayer, inputs: list[Tensor]) -> list[Tensor]:
    hidden = cell = torch.zeros(layer.recurrent_weight.shape[1])
    outputs = []
    for vector in inputs:
        gates = layer.input_weight @ vector + layer.recurrent_weight @ hidden + layer.bias
        into, keep, new, out = gates.chunk(4)
        cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
        hidden = out.sigmoid() * cell.tanh()
        outputs.append(hidden)
    return outputs


def slowly(
    model: SpanModel, words: Tensor, features: Tensor, read: Sequence[Tensor] = ()
) -> dict[tuple[int, int], Tensor]:
    """Compute log P of each label of each span, by its two boundaries; ``read`` is an encoder's
    output."""
    inputs = []
    for row, (vector, *grams) in zip(words.tolist(), features.tolist(), strict=True):
        spelling = torch.zeros(model.config.spelling_size)
        known = [gram for gram in grams if gram >= 0]
        for gram in known:
            spelling = spelling + model.spelling[gram] / len(known)
        inputs.append(torch.cat([model.embedding[row], model.vectors[vector], spelling]))
    if read:
        inputs = [torch.cat(pair) for pair in zip(inputs, read, strict=True)]
    for forward, back in zip(model.forwards, model.backwards, strict=True):
        assert isinstance(forward, LstmLayer) and isinstance(back, LstmLayer)
        both = lstm(forward, inputs), lstm(back, inputs[::-1])[::-1]
        inputs = [torch.cat(pair) for pair in zip(*both, strict=True)]
    ahead_read, back_read = both
    ends = [torch.cat(pair) for pair in zip(ahead_read[:-1], back_read[1:], strict=True)]
    found = {}
    for start, left in enumerate(ends):
        for end, right in enumerate(ends[start + 1 :], start + 1):
            hidden = (model.left @ left + model.right @ right + model.span_bias).relu()
            found[start, end] = (model.output @ hidden + model.output_bias).log_softmax(0)
    return found


@torch.inference_mode()
def test_sentences_side_by_side_are_those_of_each_alone_to_the_last_bit() -> None:
    """Both layers read them, in pieces of several steps, beside longer and shorter ones."""
    model = build(replace(CONFIG, hidden_sizes=(16, 8)))
    sentences = [sentence(words, seed) for seed, words in enumerate([5, 1, 30, 14, 15, 5, 40])]
    for order in (1, -1):
        given = sentences[::order]
        for one, read in zip(given, model.read_several(given), strict=True):
            assert torch.equal(model.read_one(*one), read)


def assert_table(model: SpanModel, data: Tensor, expected: dict[tuple[int, int], Tensor]) -> None:
    ((first, table),) = model.label_log_probabilities(data)
    starts, ends = (boundary.tolist() for boundary in span_ends(len(data) - 2))
    assert first == 0 and len(table) == len(expected)
    for span, by_label in zip(zip(starts, ends, strict=True), table.tolist(), strict=True):
        assert by_label == pytest.approx(expected[span].tolist(), abs=1e-5)


@pytest.mark.parametrize("words", [1, 2, 5])
def test_every_span_is_what_the_equations_say(words: int) -> None:
    model, given = build(), sentence(words)
    expected = slowly(model, *given)
    assert len(expected) == words * (words + 1) // 2
    assert_table(model, model.read_one(*given), expected)


def test_a_long_sentence_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = build(), sentence(7)
    ((_, whole),) = model.label_log_probabilities(model.read_one(*given))
    monkeypatch.setattr("reranker.models.span_model._NUMBERS_AT_ONCE", 10 * model.config.span_size)
    pieces = list(model.label_log_probabilities(model.read_one(*given)))
    assert [first for first, _ in pieces] == [0, 10, 20]
    assert torch.allclose(torch.cat([piece for _, piece in pieces]), whole, atol=1e-6)


@pytest.mark.parametrize("words", [1, 2, 9])
def test_spans_have_numbers(words: int) -> None:
    starts, ends = (boundary.numpy() for boundary in span_ends(words))
    assert span_numbers(starts, ends - 1, words).tolist() == [*range(len(starts))]


def test_rounded_products_are_those_of_the_weights_at_that_time() -> None:
    """Weights that are not of 8 bits any more leave nothing of the former ones."""
    encoder = PieceConfig(9, size=320, inner_size=960, layers=1, heads=4, positions=40, per_word=3)
    model, (words, features) = build(replace(CONFIG, encoder=encoder)), sentence(4)
    assert model.encoder
    for weight in model.encoder.layers.parameters():
        if weight.dim() == 2:
            integers = (weight / weight.abs().amax(1, keepdim=True) * 127).round()
            weight.data = integers * 0.0003
    pieces = torch.tensor([[2, -1, -1], [4, 5, -1], [6, 7, 8], [4, -1, -1], [1, 5, 6], [3, -1, -1]])
    given = words, torch.cat([features[:, :1], pieces, features[:, 1:]], dim=1)

    def table() -> Tensor:
        with torch.inference_mode():
            ((_, labels),) = model.label_log_probabilities(model.read_one(*given))
        return labels

    exact = table()
    model.round_products()
    assert torch.allclose(table(), exact, atol=1e-3)
    assert model.is_rounded is (model.packed_ends is not None) is products.eight_bits_work()
    for weight in model.parameters():
        weight.data = weight + 0.01 * torch.randn_like(weight)
    model.round_products()
    assert not model.is_rounded
    changed = table()
    model.packed_ends = model.packed_output = None
    assert torch.equal(table(), changed) and not torch.allclose(changed, exact, atol=1e-3)


def test_the_loss_is_that_of_all_labels() -> None:
    model, given = build(PLAIN), [sentence(4, seed) for seed in (1, 2)]
    words, features = (torch.stack(part, 1) for part in zip(*given, strict=True))
    labels = torch.arange(20).view(10, 2) % 4
    starts, ends = (boundary.tolist() for boundary in span_ends(4))
    expected = 0.0
    for column, each in enumerate(given):
        table = slowly(model, *each)
        for place, span in enumerate(zip(starts, ends, strict=True)):
            expected -= table[span][labels[place, column]].item()
    assert model.loss(words, features, labels).item() == pytest.approx(expected, rel=1e-5)
    rough = model.loss(words, features, labels, torch.bfloat16).item()
    assert rough == pytest.approx(expected, rel=0.03) and rough != expected


def test_all_but_the_word_vectors_learn() -> None:
    model = build(PLAIN).train()
    words, features = (part.unsqueeze(1) for part in sentence(5))
    loss = model.loss(words, features, torch.arange(15).view(15, 1) % 4)
    loss.backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == ["vectors"]
    for name, weight in model.named_parameters():
        assert weight.grad is None or weight.grad.abs().sum() > 0, name


def test_an_encoders_reading_of_a_word_is_part_of_its_input() -> None:
    encoder = PieceConfig(9, size=6, inner_size=8, layers=1, heads=2, positions=12, per_word=3)
    model, (words, features) = build(replace(CONFIG, encoder=encoder)), sentence(4)
    assert model.encoder
    pieces = torch.tensor([[2, -1, -1], [4, 5, -1], [6, 7, 8], [4, -1, -1], [1, 5, 6], [3, -1, -1]])
    given = torch.cat([features[:, :1], pieces, features[:, 1:]], dim=1)
    read = model.encoder(pieces.unsqueeze(1))[:, 0]
    expected = slowly(model, words, features, [*read])
    assert_table(model, model.read_one(words, given), expected)


def test_every_dropout_is_for_training_only() -> None:
    words, features = (part.unsqueeze(1) for part in sentence(6))
    labels = torch.zeros(21, 1, dtype=torch.long)
    for name in (each for each in CONFIG.__slots__ if each.endswith("_dropout")):
        model = build(replace(PLAIN, **dict[str, Any]({name: 0.5})))
        still = model.loss(words, features, labels).item()
        assert still == build(PLAIN).loss(words, features, labels).item(), name
        model.train()
        losses = {model.loss(words, features, labels).item() for _ in range(4)}
        assert len(losses) == 4, name


@pytest.mark.parametrize(
    "wrong",
    [
        {"label_count": 0},
        {"span_size": 1.5},
        {"hidden_sizes": ()},
        {"hidden_sizes": (5_000,)},
        {"span_size": 5_000},
        {"span_dropout": 1.0},
    ],
)
def test_settings_that_make_no_model(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(CONFIG, **wrong)
