"""Attention, Key-Value and Key-Value-Predict: LSTMs that look back at their last L outputs
(Daniluk 2016, sections 3.3 to 3.5).

The three differ in which part of an output serves which purpose: all of it for everything, one
half to be matched (key) and one as content and prediction (value), or one third for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from reranker.models.config import WindowConfig, parts_of
from reranker.models.language_model import LanguageModel
from reranker.models.layer import LayerState, Reader, lstm_layers, matrix, product
from reranker.models.past import attention, latest, timeline, windows


@dataclass(frozen=True, slots=True)
class AttentionConfig(WindowConfig):
    """h* has the size of the last layer. The defaults are those of Table 4.8."""

    parts: ClassVar[int] = 1
    embedding_size: int = 287
    hidden_sizes: tuple[int, ...] = (287,)
    window: int = 4  # earlier outputs in view

    @property
    def reader_size(self) -> int:
        return parts_of(self.hidden_sizes[-1], self.parts)


@dataclass(frozen=True, slots=True)
class KeyValueConfig(AttentionConfig):
    """h* has half the size of the last layer."""

    parts: ClassVar[int] = 2
    embedding_size: int = 249
    hidden_sizes: tuple[int, ...] = (498,)
    window: int = 3


@dataclass(frozen=True, slots=True)
class KeyValuePredictConfig(AttentionConfig):
    """h* has a third of the size of the last layer."""

    parts: ClassVar[int] = 3
    embedding_size: int = 215
    hidden_sizes: tuple[int, ...] = (645,)
    window: int = 3


class _Attentive(LanguageModel):
    """LSTM layers, and ``PastAttention`` to the last one's outputs."""

    def __init__(self, config: AttentionConfig) -> None:
        reader = PastAttention(config.hidden_sizes[-1], config.parts, config.window)
        super().__init__(config, lstm_layers(config), reader)


class Attention(_Attentive):
    """An output is its own key, value and prediction (equations 3.4 to 3.7)."""

    architecture = "attention"


class KeyValue(_Attentive):
    """An output is a key and a value, which also predicts (equations 3.8 to 3.11)."""

    architecture = "key-value"


class KeyValuePredict(_Attentive):
    """An output is a key, a value and a prediction (equations 3.12 to 3.15)."""

    architecture = "key-value-predict"


class PastAttention(Reader):
    """h* from the last output and a weighted sum of the L outputs before it (equations 3.12-3.15).

    With output i split into key k_i, value v_i and prediction p_i (shared in the smaller models):
    m_i = tanh(W^Y k_i + W^h k_t); alpha = softmax_i(w^T m_i); r = sum_i alpha_i v_i;
    h* = tanh(W^P r + W^X p_t), i from t - L to t - 1. Positions before the first token get no
    weight; r of the first token is zero. Equations 3.10 and 3.14 have the keys' matrix Y in r;
    the text says values, and so do we.
    """

    def __init__(self, hidden_size: int, parts: int, window: int) -> None:
        super().__init__()
        self.parts, self.window = parts, window
        size = hidden_size // parts
        self.key_weight = matrix(size, size)  # W^Y
        self.query_weight = matrix(size, size)  # W^h
        self.score_weight = matrix(1, size)  # w
        self.context_weight = matrix(size, size)  # W^P
        self.prediction_weight = matrix(size, size)  # W^X

    def initial_state(self, batch: int) -> LayerState:
        """Return W^Y k_i and v_i of the last L positions, and which of these positions there are.

        Keys are stored after W^Y, so that scoring computes each once.
        """
        empty = self.key_weight.new_zeros(batch, self.window, len(self.key_weight))
        return empty, empty.clone(), empty.new_zeros(batch, self.window, dtype=torch.bool)

    def forward(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, Tensor, LayerState]:
        parts = outputs.chunk(self.parts, dim=-1)
        key, prediction = parts[0], parts[-1]
        value = parts[1] if self.parts > 1 else key
        memory = (product(key, self.key_weight), value, torch.ones_like(tokens, dtype=torch.bool))
        lines = [timeline(old, new) for old, new in zip(state, memory, strict=True)]
        keys, values, filled = (windows(line, self.window, len(outputs)) for line in lines)

        match = torch.tanh(keys + product(key, self.query_weight).unsqueeze(2))  # M, [T, B, L, K]
        scores = product(match, self.score_weight).squeeze(-1)
        weights = attention(scores, filled)
        context = (weights.unsqueeze(-1) * values).sum(2)  # r
        read = torch.tanh(
            product(context, self.context_weight) + product(prediction, self.prediction_weight)
        )
        return read, weights, tuple(latest(line, self.window) for line in lines)
