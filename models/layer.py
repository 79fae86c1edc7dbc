"""The parts of language models: recurrent layers, and readers of the past on top of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models.config import Config
from reranker.models.products import (
    EightBitWeight,
    eight_bit_weight,
    linear,
    lstm,
    packed,
    packed_lstm,
)

# Inputs are embeddings or outputs of LSTMs, 0.2 to 0.3 in size, and the terms of a gate's sum
# should be near 1: with Xavier's scale a layer's outputs start at 0.03, and a mixture of softmaxes
# on them learns only frequencies for hundreds of batches (docs/research/training.md).
_INPUT_SCALE = 3.0

LayerState = tuple[Tensor, ...]  # the first dimension of each is the row, B


class Layer(nn.Module, ABC):
    """A recurrent layer."""

    @abstractmethod
    def initial_state(self, batch: int) -> LayerState:
        """Return the layer's state before the first token."""

    @abstractmethod
    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """Return outputs [T, B, H] for inputs [T, B, D], and the last state."""

    def project(self, inputs: Tensor) -> Tensor:
        """Compute the part of ``step`` that depends on inputs [N, D] alone, for any number of
        positions at once."""
        return inputs

    @abstractmethod
    def step(self, projected: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """Run one time step for B projected inputs, without dropout or gradients: return the output
        [B, H] and the new state."""


class Reader(nn.Module, ABC):
    """A module that makes h*, from which words are predicted, from a layer's present and past
    outputs."""

    @abstractmethod
    def initial_state(self, batch: int) -> LayerState:
        """Return an empty past."""

    @abstractmethod
    def forward(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, Tensor | None, LayerState]:
        """Return h* [T, B, K] for outputs [T, B, H] after reading ``tokens`` [T, B]; the attention
        to the last L positions, oldest first, [T, B, L], or None for a reader without attention;
        the last state."""

    def step(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, Tensor | None, LayerState]:
        """Run one time step of ``forward``; its tensors lack the first dimension."""
        read, attention, state = self(outputs.unsqueeze(0), tokens.unsqueeze(0), state)
        return read[0], None if attention is None else attention[0], state

    def gather(
        self, outputs: Tensor, tokens: Tensor, state: LayerState
    ) -> tuple[Tensor, LayerState]:
        """Run the part of ``step`` that depends on the state: return the numbers that ``read``
        takes, [B, ...], and the new state."""
        read, _, state = self.step(outputs, tokens, state)
        return read, state

    def read(self, gathered: Tensor) -> Tensor:
        """Compute the rest of ``step`` for any number of positions at once: h* [N, K]."""
        return gathered


def start_normal(weight: Tensor, std: float) -> None:
    """Draw a weight's initial values. A weight on the meta device is about to be loaded; drawing it
    there would import torch's compiler, which takes longer than loading."""
    if not weight.is_meta:
        nn.init.normal_(weight, std=std)


def start_orthogonal(recurrent_weight: Tensor) -> None:
    """Initialise each of the four gates of a weight [4 H, H] with an orthogonal matrix, unless the
    weight is about to be loaded."""
    if not recurrent_weight.is_meta:
        for gate in recurrent_weight.data.chunk(4):
            nn.init.orthogonal_(gate)


class LstmLayer(Layer):
    """One LSTM layer whose recurrent weights are dropped (DropConnect) in training."""

    rounded: tuple[EightBitWeight | None, EightBitWeight | None] = None, None
    """Input and recurrent weight for products of 8-bit integers, if ``step`` computes with them."""

    def __init__(self, input_size: int, hidden_size: int, weight_dropout: float) -> None:
        super().__init__()
        self.weight_dropout = weight_dropout
        self.input_weight = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))  # gates: input, forget, cell, output
        start_normal(self.input_weight, std=_INPUT_SCALE / input_size**0.5)
        start_orthogonal(self.recurrent_weight)
        self.bias.data[hidden_size : 2 * hidden_size] = 1.0

    def initial_state(self, batch: int) -> LayerState:
        """Return h_0 = c_0 = 0, [batch, H] each."""
        size = self.recurrent_weight.shape[1]
        return self.bias.new_zeros(batch, size), self.bias.new_zeros(batch, size)

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        hidden, cell = (part.unsqueeze(0).to(inputs.dtype) for part in state)
        outputs, hidden, cell = torch.lstm(
            inputs,
            (hidden, cell),
            self.kernel_weights(inputs.dtype),
            True,
            1,
            0.0,
            self.training,
            False,
            False,
        )
        return outputs, (hidden[0], cell[0])

    def read(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        """Compute ``forward`` for scoring: the same to the last bit, and sooner for a few steps."""
        weights = packed_lstm(self, [self.input_weight, self.recurrent_weight])
        if weights is None:
            return self.forward(inputs, state)
        hidden, cell = state
        return lstm(inputs, (hidden, cell), weights, self.bias)

    def dropped_weight(self) -> Tensor:
        """Return the recurrent weight after DropConnect, [4 H, H]: a local value passed to the
        kernel, so that nothing can silently bypass it."""
        return functional.dropout(self.recurrent_weight, self.weight_dropout, self.training)

    def kernel_weights(self, dtype: torch.dtype) -> list[Tensor]:
        """Return the weights in the form torch's LSTM takes, in ``dtype``; the second bias of
        torch's LSTM is zero."""
        bias = self.bias.to(dtype)
        weights = [self.input_weight.to(dtype), self.dropped_weight().to(dtype)]
        return [*weights, bias, torch.zeros_like(bias)]

    def round_products(self, *, is_bounded: bool) -> None:
        """Compute ``step`` with products of 8-bit integers from now on, where the processor is
        faster with them, and ``project``, too, if its inputs are numbers from -1 to 1
        (``is_bounded``), as h is. Call it again after a change of weights."""
        into = eight_bit_weight(self.input_weight) if is_bounded else None
        self.rounded = into, eight_bit_weight(self.recurrent_weight)

    def project(self, inputs: Tensor) -> Tensor:
        if (weight := self.rounded[0]) is not None:
            return weight.product(inputs).add_(self.bias)
        return linear(inputs, self.input_weight, self.bias)

    def step(self, projected: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        hidden, cell = state
        weight = self.rounded[1]
        if weight is None:
            gates = linear(hidden, packed(self, self.recurrent_weight))
        else:
            gates = weight.product(hidden)
        gates.add_(projected)
        # lstm_cell in fewer and smaller operations: with a few rows, their number counts.
        into, keep, new, out = gates.chunk(4, dim=1)
        new.mul_(2)
        gates.sigmoid_()
        new.mul_(2).sub_(1)
        cell = torch.mul(keep, cell).addcmul_(into, new)
        hidden = torch.mul(cell, 2).sigmoid_().mul_(2).sub_(1).mul_(out)
        return hidden, (hidden, cell)


def lstm_layers(config: Config) -> Iterator[LstmLayer]:
    """Yield LSTM layers, each on top of the one before, the first on the embedding.

    A generator, so that a model's embedding draws its random numbers before its layers do.
    """
    before = config.embedding_size
    for size in config.hidden_sizes:
        yield LstmLayer(before, size, config.recurrent_weight_dropout)
        before = size


def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return hidden and cell state [B, H] of an LSTM from its gates' sums [B, 4 H] and the cell
    before."""
    into, keep, new, out = gates.chunk(4, dim=1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(into) * _tanh(new)
    return torch.sigmoid(out) * _tanh(cell), cell


def _tanh(values: Tensor) -> Tensor:
    """Compute tanh; torch's own takes four times as long on a CPU."""
    return torch.sigmoid(2 * values).mul(2).sub(1)


def matrix(outputs: int, inputs: int) -> nn.Parameter:
    """Return a trainable weight [outputs, inputs] with Xavier's scale."""
    weight = nn.Parameter(torch.empty(outputs, inputs))
    nn.init.xavier_uniform_(weight)
    return weight


def product(inputs: Tensor, weight: Tensor) -> Tensor:
    """Multiply ``weight`` [N, D] with each of ``inputs`` [..., D], in the inputs' precision: [...,
    N]."""
    flat = linear(inputs.flatten(0, -2), weight.to(inputs.dtype))
    return flat.view(*inputs.shape[:-1], -1)
