"""RM(+tM-g): an LSTM whose outputs look up the last L words in a memory of their own (Tran,
Bisazza and Monz 2016, "Recurrent Memory Networks for Language Modeling", section 3; a baseline of
Daniluk 2016, section 3.6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models.config import WindowConfig
from reranker.models.language_model import LanguageModel
from reranker.models.layer import LayerState, Reader, lstm_layers, matrix, product
from reranker.models.past import attention, latest, timeline, windows

_NO_WORD = -1


@dataclass(frozen=True, slots=True)
class RecurrentMemoryConfig(WindowConfig):
    """h* has the size of the last layer. The defaults are those of Table 4.8."""

    window: int = 20  # words in view, the one just read among them

    @property
    def reader_size(self) -> int:
        return self.hidden_sizes[-1]


class RecurrentMemory(LanguageModel):
    """LSTM layers, and a ``MemoryBlock`` that the last one's outputs query."""

    architecture = "recurrent-memory"

    def __init__(self, config: RecurrentMemoryConfig) -> None:
        reader = MemoryBlock(config.vocabulary_size, config.hidden_sizes[-1], config.window)
        super().__init__(config, lstm_layers(config), reader)


class MemoryBlock(Reader):
    """A block that attends to the words x_(t-L+1) ... x_t through two embeddings of its own, M and
    C.

    p = softmax_i((M x_i + T_i) h_t), T the temporal matrix, one row for each place in the window
    ("+tM"); s = sum_i p_i C x_i. Both are combined as in a gated recurrent unit ("-g"):
    z = sigmoid(W_z s + U_z h_t); r = sigmoid(W_r s + U_r h_t);
    h* = (1 - z) h_t + z tanh(W s + U (r h_t)).
    Places before the first word get no weight.
    """

    def __init__(self, vocabulary_size: int, size: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.key_embedding = nn.Parameter(torch.empty(vocabulary_size, size))  # M
        self.value_embedding = nn.Parameter(torch.empty(vocabulary_size, size))  # C
        self.temporal = nn.Parameter(torch.empty(window, size))  # T, the oldest place first
        for weight in (self.key_embedding, self.value_embedding, self.temporal):
            nn.init.uniform_(weight, -0.1, 0.1)
        self.context_weight = matrix(3 * size, size)  # W_z, W_r, W
        self.gate_weight = matrix(2 * size, size)  # U_z, U_r
        self.candidate_weight = matrix(size, size)  # U

    def initial_state(self, batch: int) -> LayerState:
        """Return the L - 1 words before the next."""
        return (torch.full((batch, self.window - 1), _NO_WORD, device=self.temporal.device),)

    def forward(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, Tensor, LayerState]:
        line = timeline(state[0], tokens)
        words = line.clamp(min=0)
        keys, values = (
            windows(functional.embedding(words, table).to(outputs.dtype), self.window, len(tokens))
            for table in (self.key_embedding, self.value_embedding)
        )
        filled = windows(line != _NO_WORD, self.window, len(tokens))
        keys = keys + self.temporal.to(outputs.dtype)  # [T, B, L, H]
        weights = attention((keys * outputs.unsqueeze(2)).sum(-1), filled)
        context = (weights.unsqueeze(-1) * values).sum(2)  # s

        size = outputs.shape[-1]
        from_context = product(context, self.context_weight)
        gates = from_context[..., : 2 * size] + product(outputs, self.gate_weight)
        update, reset = torch.sigmoid(gates).chunk(2, dim=-1)
        candidate = torch.tanh(
            from_context[..., 2 * size :] + product(reset * outputs, self.candidate_weight)
        )
        read = (1 - update) * outputs + update * candidate
        return read, weights, (latest(line, self.window - 1),)
