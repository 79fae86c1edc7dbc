"""LSTMN: an LSTM with a tape of its last L states in place of one cell (Cheng, Dong and Lapata
2016, "Long Short-Term Memory-Networks for Machine Reading", section 3.1; a baseline of Daniluk
2016, section 3.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models.config import WindowConfig
from reranker.models.language_model import LanguageModel
from reranker.models.layer import Layer, LayerState, lstm_cell, matrix, product, start_orthogonal
from reranker.models.past import attention


@dataclass(frozen=True, slots=True)
class LstmnConfig(WindowConfig):
    """The defaults are those of Table 4.8."""

    embedding_size: int = 277
    hidden_sizes: tuple[int, ...] = (277,)
    window: int = 5  # earlier states on the tape


class Lstmn(LanguageModel):
    """LSTMN layers, one on top of the other."""

    architecture = "lstmn"

    def __init__(self, config: LstmnConfig) -> None:
        super().__init__(config, _layers(config))


def _layers(config: LstmnConfig) -> Iterator[LstmnLayer]:
    before = config.embedding_size
    for size in config.hidden_sizes:
        yield LstmnLayer(before, size, config.window, config.recurrent_weight_dropout)
        before = size


class LstmnLayer(Layer):
    """An LSTM whose step starts from a mixture of its last L states (equations 4 to 9).

    a_i = v^T tanh(W_h h_i + W_x x_t + W_s s_(t-1)); [s_t, c] = sum_i softmax(a)_i [h_i, c_i]; then
    an LSTM's step from hidden state s_t and cell c on input x_t gives h_t and c_t, which are
    appended to the tape. (s is the paper's h with a tilde.) Before the first token the tape is
    empty, and s and c are zero. Each step needs the previous one, so a segment is a loop.
    """

    def __init__(
        self, input_size: int, hidden_size: int, window: int, weight_dropout: float
    ) -> None:
        super().__init__()
        self.window, self.weight_dropout = window, weight_dropout
        self.input_weight = matrix(4 * hidden_size, input_size)
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        start_orthogonal(self.recurrent_weight)
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))  # gates: input, forget, cell, output
        self.bias.data[hidden_size : 2 * hidden_size] = 1.0
        self.key_weight = matrix(hidden_size, hidden_size)  # W_h
        self.query_weight = matrix(hidden_size, input_size)  # W_x
        self.summary_weight = matrix(hidden_size, hidden_size)  # W_s
        self.score_weight = matrix(1, hidden_size)  # v

    def initial_state(self, batch: int) -> LayerState:
        """Return the tape, [W_h h_i, h_i, c_i] for each place; which places are filled; s."""
        size = len(self.key_weight)
        tape = self.bias.new_zeros(batch, self.window, 3 * size)
        filled = tape.new_zeros(batch, self.window, dtype=torch.bool)
        return tape, filled, tape.new_zeros(batch, size)

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        recurrent = functional.dropout(self.recurrent_weight, self.weight_dropout, self.training)
        return self._run(inputs, state, recurrent)

    def step(self, projected: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        outputs, state = self._run(projected.unsqueeze(0), state, self.recurrent_weight)
        return outputs[0], state

    def _run(
        self, inputs: Tensor, state: LayerState, recurrent: Tensor
    ) -> tuple[Tensor, LayerState]:
        tape, filled, summary = state[0].to(inputs.dtype), state[1], state[2].to(inputs.dtype)
        size = summary.shape[1]
        from_inputs = product(inputs, self.input_weight) + self.bias.to(inputs.dtype)
        queries = product(inputs, self.query_weight)
        outputs = []
        for gates, query in zip(from_inputs, queries, strict=True):
            query = query + product(summary, self.summary_weight)
            match = torch.tanh(tape[:, :, :size] + query.unsqueeze(1))
            weights = attention(product(match, self.score_weight).squeeze(-1), filled)
            recalled = (weights.unsqueeze(-1) * tape[:, :, size:]).sum(1)
            summary, cell = recalled.chunk(2, dim=1)
            hidden, cell = lstm_cell(gates + product(summary, recurrent), cell)
            new = torch.cat([product(hidden, self.key_weight), hidden, cell], dim=1)
            tape = torch.cat([tape[:, 1:], new.unsqueeze(1)], dim=1)
            filled = torch.cat([filled[:, 1:], torch.ones_like(filled[:, :1])], dim=1)
            outputs.append(hidden)
        return torch.stack(outputs), (tape, filled, summary)
