"""The dropouts of AWD-LSTM (Merity et al. 2018): one mask for a whole sequence."""

from __future__ import annotations

import torch
from torch import Tensor


def locked_dropout(values: Tensor, rate: float, training: bool) -> Tensor:
    """Variational dropout of [T, B, ...]: every time step of a sequence gets the same mask."""
    if not training or rate == 0:
        return values
    return values * _mask(values.new_empty(1, *values.shape[1:]), rate)


def shared_dropout(components: Tensor, rate: float, training: bool) -> Tensor:
    """Drop numbers of the mixture's vectors [T, B, J, D], with one mask for all T and all J."""
    if not training or rate == 0:
        return components
    _, batch, _, size = components.shape
    return components * _mask(components.new_empty(1, batch, 1, size), rate)


def row_dropout(weight: Tensor, rate: float, training: bool) -> Tensor:
    """Drops whole rows of an embedding matrix [V, D], that is, words."""
    if not training or rate == 0:
        return weight
    return weight * _mask(weight.new_empty(weight.shape[0], 1), rate)


def _mask(like: Tensor, rate: float) -> Tensor:
    return torch.bernoulli(torch.full_like(like, 1 - rate)) / (1 - rate)
