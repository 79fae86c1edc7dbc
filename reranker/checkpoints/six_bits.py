"""The rows of a matrix in 6 bits, each row with a scale of its own: for large models, and imported
only for them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_LARGEST = 31
# So few steps that a row gains if its few largest numbers are made smaller.
_SHARES = tuple(step / 20 for step in range(13, 21))


def six_bits(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return a float32 matrix [R, C] as uint8 [R, 3 ⌈C / 4⌉], and the scale [R] of each row. The
    scale is a share of the row's largest absolute value, divided by the largest integer: of several
    shares, the one with the least squared error."""
    widest = weight.abs().amax(1)
    best, scale = torch.full_like(widest, torch.inf), widest / _LARGEST
    for share in _SHARES:
        tried = widest * share / _LARGEST
        error = (_integers(weight, tried) * tried[:, None] - weight).square().sum(1)
        scale = torch.where(error < best, tried, scale)
        best = torch.minimum(error, best)
    raised = functional.pad(_integers(weight, scale) + 32, (0, -weight.shape[1] % 4))
    first, second, third, fourth = raised.to(torch.uint8).view(len(raised), -1, 4).unbind(2)
    three = first | second << 6, second >> 2 | third << 4, third >> 4 | fourth << 2
    return torch.stack(three, 2).flatten(1), scale


def integers_of(stored: Tensor, columns: int) -> Tensor:
    """Return the integers [R, columns] from -31 to 31 that ``six_bits`` stored. Raises ValueError
    if rows are not as long."""
    if stored.shape[1] != 3 * -(-columns // 4):
        raise ValueError(f"its rows of {stored.shape[1]} bytes are not {columns} numbers in 6 bits")
    first, second, third = stored.view(len(stored), -1, 3).unbind(2)
    four = first, first >> 6 | second << 2, second >> 4 | third << 4, third >> 2
    raised = torch.stack([each & 63 for each in four], 2).flatten(1)
    return raised[:, :columns].to(torch.int8) - 32


def _integers(weight: Tensor, scale: Tensor) -> Tensor:
    steps = weight / torch.where(scale > 0, scale, 1.0).unsqueeze(1)
    return steps.round().clamp(-_LARGEST, _LARGEST)
