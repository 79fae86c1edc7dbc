"""The base of all language models: from token ids to a mixture of softmaxes.

An architecture is its recurrent layers and, in some, a reader of the past on top of them; the
embedding and the output are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models.config import Config
from reranker.models.dropout import locked_dropout, row_dropout, shared_dropout
from reranker.models.layer import Layer, LayerState, LstmLayer, Reader
from reranker.models.output import Features, Output

State = tuple[LayerState, ...]  # one for each layer, and the reader's; all tensors are [B, ...]


class LanguageModel(Output):
    """Embedding, layers, reader, mixture of softmaxes. Scores are natural logarithms.

    A row's results depend on its own tokens alone, and its state may be copied or moved to another
    row of a batch at any time.
    """

    architecture: ClassVar[str]  # its name in configurations and checkpoints

    def __init__(
        self, config: Config, layers: Iterable[Layer], reader: Reader | None = None
    ) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList(layers)
        self.reader = reader
        self.add_output()

    def round_products(self) -> None:
        super().round_products()
        for number, layer in enumerate(self.layers):
            if isinstance(layer, LstmLayer):
                layer.round_products(is_bounded=number > 0)  # the first reads embeddings

    @property
    def is_rounded(self) -> bool:
        """Return whether any score is computed with products of 8-bit integers."""
        layers = (layer.rounded for layer in self.layers if isinstance(layer, LstmLayer))
        return self.rounded is not None or any(map(any, layers))

    def initial_state(self, batch: int) -> State:
        """Return the state before the first token, in which every candidate starts."""
        modules = (*self.layers, self.reader) if self.reader is not None else (*self.layers,)
        return tuple(module.initial_state(batch) for module in modules)

    def forward(
        self, tokens: Tensor, state: State, dtype: torch.dtype | None = None
    ) -> tuple[Features, State]:
        """Return features after reading each of ``tokens`` [T, B] from ``state``, and the last
        state.

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
    def step(
        self, tokens: Tensor, state: State, projected: Tensor | None = None
    ) -> tuple[Features, State]:
        """Run ``forward`` for one token per row, [B], without dropout or gradients: the features
        lack the time axis. ``projected`` is the first layer's projection of the tokens, if
        known."""
        hidden = functional.embedding(tokens, self.embedding)
        outputs = [hidden]
        new_state = []
        attention = None
        for layer, before in zip(self.layers, state, strict=False):
            assert isinstance(layer, Layer)
            inputs = layer.project(hidden) if projected is None else projected
            projected = None
            hidden, after = layer.step(inputs, before)
            new_state.append(after)
            outputs.append(hidden)
        if self.reader is not None:
            hidden, attention, after = self.reader.step(hidden, tokens, state[-1])
            new_state.append(after)
            outputs.append(hidden)
        components, log_weights = self.mixed([outputs[layer] for layer in self.decoded_layers])
        return Features(components, log_weights, hidden, hidden, attention), tuple(new_state)
