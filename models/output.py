"""The output of language models and decoders: an embedding, and a mixture of softmaxes over several
layers.

Language models have it, and decoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reranker.models import mixture
from reranker.models.config import Config
from reranker.models.products import EightBits, eight_bits, linear

_PROJECTION_GAIN = 2.0  # from LSTM outputs of about 0.2 in size, makes k about 0.5


class Features(NamedTuple):
    """The features from which the output distribution at each position is computed."""

    components: Tensor  # k, [T, B, J, D]
    log_weights: Tensor  # log pi, [T, B, J]
    raw_output: Tensor  # h^N or h* before dropout, [T, B, H], for temporal regularisation
    output: Tensor  # the same after dropout, for activation regularisation
    attention: Tensor | None = None  # alpha, [T, B, L], the oldest of the window first

    def at(self, positions: Tensor | slice) -> Features:
        """Return the features at some positions, [N, ...]: a mask [T, B] or a slice."""
        return self._replace(
            components=self.components[positions], log_weights=self.log_weights[positions]
        )

    def blocks(self, elements: int, vocabulary_size: int) -> Iterator[Features]:
        """Yield positions [N, ...] in order, so many at a time that their logits, [n, J, V], are
        about ``elements`` numbers."""
        count, mixture = self.log_weights.shape
        step = max(1, elements // (mixture * vocabulary_size))
        for start in range(0, count, step):
            yield self.at(slice(start, start + step))


class Output(nn.Module):
    """The embedding of the words and, tied to it or not, what predicts them.

    Subclasses call ``add_output`` once they have their layers, so that random numbers are drawn in
    the order in which data pass through a model.
    """

    projections: nn.ModuleDict
    mixture_weights: nn.Linear | None
    decoder: nn.Parameter | None
    decoder_bias: nn.Parameter
    decoded_layers: tuple[int, ...]
    """The layers from whose outputs words are predicted; 0 is the embedding."""
    rounded: EightBits | None = None
    """The output weight for products of 8-bit integers, if scores are computed with them."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.vocabulary_size, config.embedding_size))
        nn.init.uniform_(self.embedding, -config.embedding_range, config.embedding_range)

    def add_output(self) -> None:
        """Create the weights of equations 7, 10 and 11 of Takase et al. (2018)."""
        config = self.config
        size, sizes = config.embedding_size, config.layer_sizes
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

    def start_from_frequencies(self, counts: Tensor) -> None:
        """Set the output's bias to the log frequencies of the symbols (``counts`` [V]), which
        training would need hundreds of batches to learn."""
        smoothed = counts.to(self.decoder_bias) + 0.5
        with torch.no_grad():
            self.decoder_bias.copy_((smoothed / smoothed.sum()).log())

    @property
    def output_weight(self) -> Tensor:
        """Return W, [V, D]: the embedding itself if tied."""
        return self.embedding if self.decoder is None else self.decoder

    def round_products(self) -> None:
        """Compute scores with products of 8-bit integers from now on, if the weights are of 8 bits,
        the processor is faster with them, and k has no numbers outside of -1 to 1. Call it again
        after a change of weights."""
        if not self.config.components or self.config.component_activation == "tanh":
            self.rounded = eight_bits(self.output_weight, self.decoder_bias)

    def target_log_probability(self, features: Features, targets: Tensor) -> Tensor:
        """Compute log P of ``targets`` (the features' shape without J and D), no gradient."""
        flat = mixture.target_log_probability(
            features.components.flatten(0, -3),
            features.log_weights.flatten(0, -2),
            self.output_weight,
            self.decoder_bias,
            targets.flatten(),
        )
        return flat.view(targets.shape)

    def log_probabilities(self, features: Features) -> Tensor:
        """Compute log P over the vocabulary, [..., V]: the equation as written, for beams, tests
        and analysis."""
        return mixture.log_probabilities(
            features.components.flatten(0, -3),
            features.log_weights.flatten(0, -2),
            self.output_weight,
            self.decoder_bias,
        ).view(*features.log_weights.shape[:-1], -1)

    def mixed(self, outputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Compute k (equation 11 of Takase et al. 2018) and log pi (equation 10) from the outputs
        of ``decoded_layers``."""
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
