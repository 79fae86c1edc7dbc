"""What all language models share: from token ids to a mixture of softmaxes.

An architecture is its recurrent layers and, in some, a reader of the past on top of them; the
embedding and the output are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models import mixture
from reranker.models.config import Config
from reranker.models.dropout import locked_dropout, row_dropout, shared_dropout
from reranker.models.layer import Layer, LayerState, Reader
from reranker.models.products import linear

_PROJECTION_GAIN = 2.0  # from LSTM outputs of about 0.2 in size, makes k about 0.5

State = tuple[LayerState, ...]  # one for each layer, and the reader's; all tensors are [B, ...]


class Features(NamedTuple):
    """What the output distribution at each position is computed from."""

    components: Tensor  # k, [T, B, J, D]
    log_weights: Tensor  # log pi, [T, B, J]
    raw_output: Tensor  # h^N or h* before dropout, [T, B, H], for temporal regularisation
    output: Tensor  # the same after dropout, for activation regularisation
    attention: Tensor | None = None  # alpha, [T, B, L], the oldest of the window first


class LanguageModel(nn.Module):
    """Embedding, layers, reader, mixture of softmaxes. Scores are natural logarithms.

    A row's results depend on its own tokens alone, and its state may be copied or moved to another
    row of a batch at any time.
    """

    architecture: ClassVar[str]  # its name in configurations and checkpoints

    def __init__(
        self, config: Config, layers: Iterable[Layer], reader: Reader | None = None
    ) -> None:
        super().__init__()
        self.config = config
        size = config.embedding_size
        self.embedding = nn.Parameter(torch.empty(config.vocabulary_size, size))
        nn.init.uniform_(self.embedding, -config.embedding_range, config.embedding_range)
        self.layers = nn.ModuleList(layers)
        self.reader = reader
        sizes = config.layer_sizes
        self.decoder = None
        if not config.tied:
            width = size if config.components else sizes[-1]
            self.decoder = nn.Parameter(torch.empty(config.vocabulary_size, width))
            nn.init.uniform_(self.decoder, -config.embedding_range, config.embedding_range)
        self.decoder_bias = nn.Parameter(torch.zeros(config.vocabulary_size))
        self.projections = nn.ModuleDict(
            {
                str(layer): nn.Linear(sizes[layer], count * size)
                for layer, count in enumerate(config.components)
                if count
            }
        )
        for projection in self.projections.values():
            assert isinstance(projection, nn.Linear)
            nn.init.xavier_uniform_(projection.weight, gain=_PROJECTION_GAIN)
            nn.init.zeros_(projection.bias)
        mixture_size = sum(config.components)
        self.mixture_weights = (
            nn.Linear(sizes[-1], mixture_size, bias=False) if mixture_size > 1 else None
        )
        last = len(sizes) - 1
        self.decoded_layers = tuple(sorted({*map(int, self.projections), last}))
        """The layers whose outputs words are predicted from; 0 is the embedding."""

    def start_from_frequencies(self, counts: Tensor) -> None:
        """Set the output's bias so that symbols are as likely as they are frequent (``counts``
        [V]), which training would need hundreds of batches to learn."""
        smoothed = counts.to(self.decoder_bias) + 0.5
        with torch.no_grad():
            self.decoder_bias.copy_((smoothed / smoothed.sum()).log())

    @property
    def output_weight(self) -> Tensor:
        """W, [V, D]: the embedding itself if tied."""
        return self.embedding if self.decoder is None else self.decoder

    def initial_state(self, batch: int) -> State:
        """The state before the first token, in which every candidate starts."""
        modules = (*self.layers, self.reader) if self.reader is not None else (*self.layers,)
        return tuple(module.initial_state(batch) for module in modules)

    def forward(
        self, tokens: Tensor, state: State, dtype: torch.dtype | None = None
    ) -> tuple[Features, State]:
        """Features after reading each of ``tokens`` [T, B] from ``state``, and the last state.

        Matrix products are computed in ``dtype``; parameters keep theirs.
        """
        config, training = self.config, self.training
        weight = row_dropout(self.embedding, config.word_dropout, training)
        hidden = functional.embedding(tokens, weight)
        if dtype is not None:
            hidden = hidden.to(dtype)
        hidden = locked_dropout(hidden, config.embedding_dropout, training)
        outputs = [hidden]
        new_state = []
        raw, attention = hidden, None
        for number, layer in enumerate(self.layers):
            raw, after = layer(hidden, state[number])
            new_state.append(after)
            is_last = number + 1 == len(self.layers) and self.reader is None
            rate = config.output_dropout if is_last else config.hidden_dropout
            hidden = locked_dropout(raw, rate, training)
            outputs.append(hidden)
        if self.reader is not None:
            raw, attention, after = self.reader(hidden, tokens, state[-1])
            new_state.append(after)
            hidden = locked_dropout(raw, config.output_dropout, training)
            outputs.append(hidden)
        components, log_weights = self.mixed([outputs[layer] for layer in self.decoded_layers])
        components = shared_dropout(components, config.component_dropout, training)
        return Features(components, log_weights, raw, hidden, attention), tuple(new_state)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: State) -> tuple[Features, State]:
        """The same for one token each, [B], without dropout and gradients: features without the
        time axis."""
        hidden = functional.embedding(tokens, self.embedding)
        outputs = [hidden]
        new_state = []
        attention = None
        for layer, before in zip(self.layers, state, strict=False):
            assert isinstance(layer, Layer)
            hidden, after = layer.step(layer.project(hidden), before)
            new_state.append(after)
            outputs.append(hidden)
        if self.reader is not None:
            hidden, attention, after = self.reader.step(hidden, tokens, state[-1])
            new_state.append(after)
            outputs.append(hidden)
        components, log_weights = self.mixed([outputs[layer] for layer in self.decoded_layers])
        return Features(components, log_weights, hidden, hidden, attention), tuple(new_state)

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
        """log P over the vocabulary, [..., V]: the equation as written, for tests and analysis."""
        return mixture.log_probabilities(
            features.components.flatten(0, -3),
            features.log_weights.flatten(0, -2),
            self.output_weight,
            self.decoder_bias,
        ).view(*features.log_weights.shape[:-1], -1)

    def mixed(self, outputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """k (equation 11 of Takase et al. 2018) and log pi (equation 10) from the outputs of
        ``decoded_layers``."""
        last = outputs[-1]
        if not self.projections:
            components = last.unsqueeze(-2)
        else:
            parts = []
            for number, projection in self.projections.items():
                assert isinstance(projection, nn.Linear)
                source = outputs[self.decoded_layers.index(int(number))]
                part = linear(
                    source.flatten(0, -2),
                    projection.weight.to(last.dtype),
                    projection.bias.to(last.dtype),
                )
                parts.append(part.view(*source.shape[:-1], -1, self.config.embedding_size))
            components = torch.cat(parts, dim=-2)
            if self.config.component_activation == "tanh":
                components = torch.tanh(components)
        if self.mixture_weights is None:
            return components, components.new_zeros(components.shape[:-1]).to(self.embedding.dtype)
        scores = linear(last.flatten(0, -2), self.mixture_weights.weight.to(last.dtype))
        scores = scores.view(*last.shape[:-1], -1)
        return components, torch.log_softmax(scores.to(self.embedding.dtype), dim=-1)
