"""The rows of a matrix as small integers, each row with a scale of its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_LARGEST = {torch.int8: 127, torch.uint8: 31}  # uint8: 6 bits
# Six bits leave so few steps that a row gains if its few largest numbers are made smaller.
_SHARES = {torch.int8: (1.0,), torch.uint8: tuple(step / 20 for step in range(13, 21))}


def is_rounded(dtype: torch.dtype) -> bool:
    return dtype in _LARGEST


def rounded(weight: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return a matrix [R, C] in 8 bits, int8 [R, C], or in 6, uint8 [R, 3 ⌈C / 4⌉], and the float32
    scale [R] of each row. The scale is a share of the row's largest absolute value, divided by the
    largest integer: of several shares, the one with the least squared error."""
    weight, largest = weight.float(), _LARGEST[dtype]
    widest = weight.abs().amax(1)
    best, scale = torch.full_like(widest, torch.inf), widest / largest
    for share in _SHARES[dtype]:
        tried = widest * share / largest
        error = (_integers(weight, tried, largest) * tried[:, None] - weight).square().sum(1)
        scale = torch.where(error < best, tried, scale)
        best = torch.minimum(error, best)
    integers = _integers(weight, scale, largest).to(torch.int8)
    return (integers if dtype == torch.int8 else _packed(integers)), scale


def restored(stored: Tensor, scale: Tensor, columns: int) -> Tensor:
    """Return the matrix [R, columns] of ``rounded``. Raises ValueError if the parts do not fit."""
    if scale.shape != stored.shape[:1] or not scale.is_floating_point():
        raise ValueError("its scales do not fit its rows")
    integers = _unpacked(stored, columns) if stored.dtype == torch.uint8 else stored
    return integers.float() * scale.float().unsqueeze(1)


def _integers(weight: Tensor, scale: Tensor, largest: int) -> Tensor:
    steps = weight / torch.where(scale > 0, scale, 1.0).unsqueeze(1)
    return steps.round().clamp(-largest, largest)


def _packed(integers: Tensor) -> Tensor:
    """Return integers [R, C] from -31 to 31, four of them in three bytes."""
    raised = functional.pad(integers + 32, (0, -integers.shape[1] % 4)).to(torch.uint8)
    first, second, third, fourth = raised.view(len(raised), -1, 4).unbind(2)
    three = first | second << 6, second >> 2 | third << 4, third >> 4 | fourth << 2
    return torch.stack(three, 2).flatten(1)


def _unpacked(stored: Tensor, columns: int) -> Tensor:
    if stored.shape[1] != 3 * -(-columns // 4):
        raise ValueError(f"its rows of {stored.shape[1]} bytes are not {columns} numbers in 6 bits")
    first, second, third = stored.view(len(stored), -1, 3).unbind(2)
    four = first, first >> 6 | second << 2, second >> 4 | third << 4, third >> 2
    raised = torch.stack([each & 63 for each in four], 2).flatten(1)
    return raised[:, :columns].to(torch.int8) - 32
