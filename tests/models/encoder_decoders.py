"""A tiny encoder-decoder of each kind, and its equations written out for one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from reranker.models.batch import PADDING
from reranker.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reranker.models.layer import LstmLayer

WORDS, SOURCE_WORDS = 7, 9
ENC_DEC = EncoderDecoderConfig(
    vocabulary_size=WORDS,
    source_vocabulary_size=SOURCE_WORDS,
    embedding_size=4,
    hidden_sizes=(5, 6),
    attentional_size=4,
    components=(),
    hidden_dropout=0.0,
    output_dropout=0.0,
    embedding_range=1.0,
)
CONFIGS = {
    "EncDec": ENC_DEC,
    "EncDec, untied": replace(ENC_DEC, tied=False, attentional_size=3),
    "EncDec+DOC(i3=2)": replace(ENC_DEC, components=(0, 0, 0, 2), attentional_size=5),
    "EncDec+DOC(i2=i3=2)": replace(ENC_DEC, components=(0, 0, 2, 2), attentional_size=3),
    "one layer, softmaxes from everywhere": replace(
        ENC_DEC, hidden_sizes=(5,), components=(1, 2, 1)
    ),
}
DROPOUTS: dict[str, Any] = {
    "word_dropout": 0.2,
    "embedding_dropout": 0.2,
    "hidden_dropout": 0.3,
    "output_dropout": 0.3,
    "component_dropout": 0.2,
    "recurrent_weight_dropout": 0.3,
}

# Of each position the features; sentences have 1 to 4 positions, positions 1 to 3 features.
SENTENCES: list[list[tuple[int, ...]]] = [
    [(1, 2, 3), (4,)],
    [(5,)],
    [(0, 8), (6, 6), (2,), (7, 1, 0)],
    [(3,), (2, 5), (1,)],
]


def build(config: EncoderDecoderConfig) -> EncoderDecoder:
    """Build a model in evaluation mode, with weights large enough to matter and none saturated."""
    model = EncoderDecoder(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6)
    return model


def padded(sentences: list[list[tuple[int, ...]]], positions: int = 0, width: int = 0) -> Tensor:
    """Return features [S, B, F]; S and F are at least ``positions`` and ``width``."""
    positions = max(positions, *map(len, sentences))
    width = max(width, *(len(features) for each in sentences for features in each))
    source = torch.full((positions, len(sentences), width), PADDING)
    for column, sentence in enumerate(sentences):
        for row, features in enumerate(sentence):
            source[row, column, : len(features)] = torch.tensor(features)
    return source


def restated(
    model: EncoderDecoder, sentence: list[tuple[int, ...]], tokens: list[int]
) -> tuple[Tensor, Tensor]:
    """Compute P of every word after each of ``tokens``, [T, V], and attention, [T, S], for one
    sentence without padding: each equation on its own line, with nothing of the model but its
    weights."""
    config = model.config
    inputs = [model.encoder.embedding[list(features)].sum(0) for features in sentence]
    states = []
    for forward, back in zip(model.encoder.forwards, model.encoder.backwards, strict=True):
        left, left_last = _lstm(forward, inputs)
        right, right_last = _lstm(back, inputs[::-1])
        inputs = [one + other for one, other in zip(left, right[::-1], strict=True)]
        states.append([one + other for one, other in zip(left_last, right_last, strict=True)])
    memory = torch.stack(inputs)  # s

    h3 = torch.zeros(config.attentional_size, dtype=memory.dtype)
    probabilities, attention = [], []
    for token in tokens:
        embedded = model.embedding[token]
        outputs = [embedded]
        below = torch.cat([embedded, h3])
        for number, layer in enumerate(model.layers):
            states[number] = list(_step(layer, below, *states[number]))
            below = states[number][0]
            outputs.append(below)
        alpha = torch.softmax(memory @ model.match_weight.T @ below, dim=0)
        context = alpha @ memory
        h3 = torch.tanh(model.context_weight @ torch.cat([context, below]))
        outputs.append(h3)
        probabilities.append(_mixture(model, outputs))
        attention.append(alpha)
    return torch.stack(probabilities), torch.stack(attention)


def _mixture(model: EncoderDecoder, outputs: list[Tensor]) -> Tensor:
    """Compute equations 7, 10 and 11 of Takase et al. (2018)."""
    weight = model.embedding if model.decoder is None else model.decoder
    vectors = [outputs[-1]]
    if model.projections:
        vectors = []
        for name, projection in model.projections.items():
            assert isinstance(projection, nn.Linear)
            k = torch.tanh(projection.weight @ outputs[int(name)] + projection.bias)
            vectors += list(k.split(model.config.embedding_size))
    pi = torch.ones(1, dtype=weight.dtype)
    if model.mixture_weights is not None:
        pi = torch.softmax(model.mixture_weights.weight @ outputs[-1], dim=0)
    softmaxes = torch.stack([torch.softmax(weight @ k + model.decoder_bias, 0) for k in vectors])
    return pi @ softmaxes


def _lstm(layer: nn.Module, inputs: list[Tensor]) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
    assert isinstance(layer, LstmLayer)
    hidden = cell = torch.zeros(layer.recurrent_weight.shape[1], dtype=inputs[0].dtype)
    outputs = []
    for vector in inputs:
        hidden, cell = _step(layer, vector, hidden, cell)
        outputs.append(hidden)
    return outputs, (hidden, cell)


def _step(layer: nn.Module, vector: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    assert isinstance(layer, LstmLayer)
    gates = layer.input_weight @ vector + layer.recurrent_weight @ hidden + layer.bias
    into, keep, new, out = gates.chunk(4)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell
