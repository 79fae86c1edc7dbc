"""RNN-N: predicts from parts of the last N + 1 outputs (Daniluk 2016, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reranker.models.config import ThesisConfig, parts_of
from reranker.models.language_model import LanguageModel
from reranker.models.layer import LayerState, Reader, lstm_layers, matrix, product
from reranker.models.past import latest, timeline


@dataclass(frozen=True, slots=True)
class RnnNConfig(ThesisConfig):
    """The last of ``hidden_sizes``, k, is a multiple of N + 1; h* has k / (N + 1)."""

    embedding_size: int = 252  # RNN-1 of Table 4.8
    hidden_sizes: tuple[int, ...] = (504,)
    order: int = 1  # N

    def __post_init__(self) -> None:
        if type(self.order) is not int or self.order < 1:
            raise ValueError(f"order must be a positive integer, got {self.order}")
        ThesisConfig.__post_init__(self)

    @property
    def reader_size(self) -> int:
        return parts_of(self.hidden_sizes[-1], self.order + 1)


class RnnN(LanguageModel):
    """LSTM layers, and ``PastParts`` of the last one's outputs."""

    architecture = "rnn-n"

    def __init__(self, config: RnnNConfig) -> None:
        reader = PastParts(config.hidden_sizes[-1], config.order)
        super().__init__(config, lstm_layers(config), reader)


class PastParts(Reader):
    """h*_t = tanh(W^C C_t) with C_t = [h_t^1, h_(t-1)^2, ..., h_(t-N)^(N+1)] (equation 3.3).

    An output's first part is for the next word, its second for the word after that, and so on.
    Outputs before the first token are zero, as h_0 is.
    """

    def __init__(self, hidden_size: int, order: int) -> None:
        super().__init__()
        self.order = order
        self.weight = matrix(hidden_size // (order + 1), hidden_size)  # W^C

    def initial_state(self, batch: int) -> LayerState:
        return (self.weight.new_zeros(batch, self.order, self.weight.shape[1]),)

    def forward(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, None, LayerState]:
        parts, state = self._parts(outputs, state)
        return self.read(parts), None, state

    def gather(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, LayerState]:
        parts, state = self._parts(outputs.unsqueeze(0), state)
        return parts[0], state

    def read(self, gathered: Tensor) -> Tensor:
        return torch.tanh(product(gathered, self.weight))

    def _parts(self, outputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """Return C_t of each position [T, B, H], and the last outputs."""
        line, count = timeline(state[0], outputs), len(outputs)
        parts = line.chunk(self.order + 1, dim=-1)
        starts = range(self.order, -1, -1)  # part i comes from i positions back
        together = [part[start : start + count] for part, start in zip(parts, starts, strict=True)]
        return torch.cat(together, dim=-1), (latest(line, self.order),)
