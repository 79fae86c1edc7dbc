"""The dropouts of AWD-LSTM (Merity et al. 2018): one mask for a whole sequence."""

from __future__ import annotations

import torch
from torch import Tensor


def locked_dropout(values: Tensor, rate: float, training: bool) -> Tensor:
    """Apply variational dropout to [T, B, ...]: every time step of a sequence gets the same
    mask."""
    return _dropped(values, (1, *values.shape[1:]), rate, training)


def shared_dropout(components: Tensor, rate: float, training: bool) -> Tensor:
    """Drop numbers of the mixture's vectors [T, B, J, D], with one mask for all T and all J."""
    _, batch, _, size = components.shape
    return _dropped(components, (1, batch, 1, size), rate, training)


def row_dropout(weight: Tensor, rate: float, training: bool) -> Tensor:
    """Drop whole rows of an embedding matrix [V, D], that is, words."""
    return _dropped(weight, (weight.shape[0], 1), rate, training)


def _dropped(values: Tensor, shape: tuple[int, ...], rate: float, training: bool) -> Tensor:
    if not training or rate == 0:
        return values
    mask = torch.bernoulli(values.new_full(shape, 1 - rate)) / (1 - rate)
    return values * mask
