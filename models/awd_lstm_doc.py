"""AWD-LSTM with Direct Output Connection (Takase, Suzuki and Nagata 2018).

LSTM, AWD-LSTM and AWD-LSTM-MoS are settings of it: no dropout; no ``components`` (one softmax over
h^N); all components from the last layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from models import mixture
from models.dropout import locked_dropout, row_dropout, shared_dropout

State = tuple[tuple[Tensor, Tensor], ...]  # per layer: hidden and cell state, each [B, H]


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes and dropout rates; the defaults are the paper's for the Penn Treebank (Table 2).

    ``components`` counts the softmaxes computed from each layer, i_0 (the embedding) to i_N; empty
    means one softmax over h^N itself, whose size must then be the embedding's if tied.
    """

    vocabulary_size: int
    embedding_size: int = 280
    hidden_sizes: tuple[int, ...] = (960, 960, 620)
    components: tuple[int, ...] = (0, 0, 5, 15)
    component_activation: str = "tanh"  # the authors' code; "none" is equation 11 as printed
    tied: bool = True
    word_dropout: float = 0.1
    embedding_dropout: float = 0.4
    hidden_dropout: float = 0.225
    output_dropout: float = 0.4
    component_dropout: float = 0.6
    recurrent_weight_dropout: float = 0.5
    embedding_range: float = 0.1

    def __post_init__(self) -> None:
        if min(self.vocabulary_size, self.embedding_size, *self.hidden_sizes, 1) < 1:
            raise ValueError("vocabulary_size, embedding_size and hidden_sizes are positive")
        if not self.hidden_sizes:
            raise ValueError("hidden_sizes has one size for each layer, at least one")
        if self.components and len(self.components) != len(self.hidden_sizes) + 1:
            raise ValueError("components takes one count for the embedding and one for each layer")
        if self.components and (min(self.components) < 0 or sum(self.components) == 0):
            raise ValueError("components counts softmaxes: at least one in all, none negative")
        if self.component_activation not in ("tanh", "none"):
            raise ValueError("component_activation is tanh or none")
        if not self.components and self.tied and self.hidden_sizes[-1] != self.embedding_size:
            raise ValueError("a tied softmax over h^N needs hidden_sizes[-1] == embedding_size")
        for name in (name for name in self.__slots__ if name.endswith("_dropout")):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not in [0, 1)")


class Features(NamedTuple):
    """What the output distribution at each position is made of."""

    components: Tensor  # k, [T, B, J, D]
    log_weights: Tensor  # log pi, [T, B, J]
    raw_output: Tensor  # h^N before dropout, [T, B, H], for temporal activation regularisation
    output: Tensor  # h^N after dropout, for activation regularisation


class LstmLayer(nn.Module):
    """One LSTM layer whose recurrent weights are dropped (DropConnect) in training."""

    def __init__(self, input_size: int, hidden_size: int, weight_dropout: float) -> None:
        super().__init__()
        self.weight_dropout = weight_dropout
        self.input_weight = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))  # gates: input, forget, cell, output
        nn.init.xavier_uniform_(self.input_weight)
        for gate in self.recurrent_weight.data.chunk(4):
            nn.init.orthogonal_(gate)
        self.bias.data[hidden_size : 2 * hidden_size] = 1.0

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Hidden states [T, B, H] for inputs [T, B, D], and the last state."""
        # The dropped weight is a local value handed to the kernel: nothing can silently bypass it.
        recurrent = functional.dropout(self.recurrent_weight, self.weight_dropout, self.training)
        bias = self.bias.to(inputs.dtype)
        weights = [
            self.input_weight.to(inputs.dtype),
            recurrent.to(inputs.dtype),
            bias,
            torch.zeros_like(bias),
        ]
        hidden, cell = (part.unsqueeze(0).to(inputs.dtype) for part in state)
        outputs, hidden, cell = torch.lstm(
            inputs, (hidden, cell), weights, True, 1, 0.0, self.training, False, False
        )
        return outputs, (hidden[0], cell[0])

    def step(
        self, inputs: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One time step for inputs [B, D], no dropout: the hidden state [B, H] and new state."""
        hidden, cell = state
        gates = torch.addmm(self.bias, inputs, self.input_weight.T)
        gates = torch.addmm(gates, hidden, self.recurrent_weight.T)
        into, keep, new, out = gates.chunk(4, dim=1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(into) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
        return hidden, (hidden, cell)


class AwdLstmDoc(nn.Module):
    """The language model. Scores are natural logarithms."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        size = config.embedding_size
        self.embedding = nn.Parameter(torch.empty(config.vocabulary_size, size))
        nn.init.uniform_(self.embedding, -config.embedding_range, config.embedding_range)
        self.layers = nn.ModuleList(
            LstmLayer(before, after, config.recurrent_weight_dropout)
            for before, after in zip(
                (size, *config.hidden_sizes), config.hidden_sizes, strict=False
            )
        )
        outputs = size if config.components else config.hidden_sizes[-1]
        self.decoder = None
        if not config.tied:
            self.decoder = nn.Parameter(torch.empty(config.vocabulary_size, outputs))
            nn.init.uniform_(self.decoder, -config.embedding_range, config.embedding_range)
        self.decoder_bias = nn.Parameter(torch.zeros(config.vocabulary_size))
        sizes = (size, *config.hidden_sizes)
        self.projections = nn.ModuleDict(
            {
                str(layer): nn.Linear(sizes[layer], count * size)
                for layer, count in enumerate(config.components)
                if count
            }
        )
        mixture_size = sum(config.components)
        self.mixture_weights = (
            nn.Linear(sizes[-1], mixture_size, bias=False) if mixture_size > 1 else None
        )

    @property
    def output_weight(self) -> Tensor:
        """W, [V, D]: the embedding itself if tied."""
        return self.embedding if self.decoder is None else self.decoder

    def initial_state(self, batch: int) -> State:
        """h_0 = 0 for every layer, [batch, H] each: where every candidate starts."""
        return tuple(
            (self.embedding.new_zeros(batch, size), self.embedding.new_zeros(batch, size))
            for size in self.config.hidden_sizes
        )

    def forward(
        self, tokens: Tensor, state: State, dtype: torch.dtype | None = None
    ) -> tuple[Features, State]:
        """Features after reading each of ``tokens`` [T, B] from ``state``, and the last state.

        ``dtype`` is what matrix products are computed in; parameters keep theirs.
        """
        config, training = self.config, self.training
        weight = row_dropout(self.embedding, config.word_dropout, training)
        hidden = functional.embedding(tokens, weight)
        if dtype is not None:
            hidden = hidden.to(dtype)
        hidden = locked_dropout(hidden, config.embedding_dropout, training)
        layers = [hidden]
        new_state = []
        raw = hidden
        for number, layer in enumerate(self.layers, 1):
            raw, last = layer(hidden, state[number - 1])
            new_state.append(last)
            is_last = number == len(self.layers)
            rate = config.output_dropout if is_last else config.hidden_dropout
            hidden = locked_dropout(raw, rate, training)
            layers.append(hidden)
        components, log_weights = self._mix(layers)
        components = shared_dropout(components, config.component_dropout, training)
        return Features(components, log_weights, raw, hidden), tuple(new_state)

    def step(self, tokens: Tensor, state: State) -> tuple[Features, State]:
        """The same for one token each, [B], without dropout: features without the time axis."""
        hidden = functional.embedding(tokens, self.embedding)
        layers = [hidden]
        new_state = []
        for layer, before in zip(self.layers, state, strict=True):
            assert isinstance(layer, LstmLayer)
            hidden, after = layer.step(hidden, before)
            new_state.append(after)
            layers.append(hidden)
        components, log_weights = self._mix(layers)
        return Features(components, log_weights, hidden, hidden), tuple(new_state)

    def target_log_probability(self, features: Features, targets: Tensor) -> Tensor:
        """log P of ``targets`` (the features' shape without J and D), no gradient."""
        flat = mixture.target_log_probability(
            features.components.flatten(0, -3),
            features.log_weights.flatten(0, -2),
            self.output_weight,
            self.decoder_bias,
            targets.flatten(),
        )
        return flat.view(targets.shape)

    def log_probabilities(self, features: Features) -> Tensor:
        """log P over the vocabulary, [..., V]: the straightforward form, for tests and analysis."""
        return mixture.log_probabilities(
            features.components.flatten(0, -3),
            features.log_weights.flatten(0, -2),
            self.output_weight,
            self.decoder_bias,
        ).view(*features.log_weights.shape[:-1], -1)

    def _mix(self, layers: list[Tensor]) -> tuple[Tensor, Tensor]:
        """k (equation 11) and log pi (equation 10) from h^0 ... h^N."""
        last = layers[-1]
        if not self.projections:
            components = last.unsqueeze(-2)
        else:
            parts = []
            for number, projection in self.projections.items():
                assert isinstance(projection, nn.Linear)
                source = layers[int(number)]
                part = functional.linear(
                    source, projection.weight.to(last.dtype), projection.bias.to(last.dtype)
                )
                parts.append(part.view(*part.shape[:-1], -1, self.config.embedding_size))
            components = torch.cat(parts, dim=-2)
            if self.config.component_activation == "tanh":
                components = torch.tanh(components)
        if self.mixture_weights is None:
            return components, components.new_zeros(components.shape[:-1]).to(self.embedding.dtype)
        scores = functional.linear(last, self.mixture_weights.weight.to(last.dtype))
        return components, torch.log_softmax(scores.to(self.embedding.dtype), dim=-1)
