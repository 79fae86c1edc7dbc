"""A sliding window over what a model has read (its memory), and attention over it.

A memory is part of a row's state, [B, L, ...], oldest first; joined with a segment's own vectors
[T, B, ...] it is a timeline [L + T, B, ...] in which position t of the segment is row L + t.
"""

from __future__ import annotations

import torch
from torch import Tensor


def timeline(memory: Tensor, segment: Tensor) -> Tensor:
    """Return the memory [B, L, ...], then the segment [T, B, ...]: [L + T, B, ...]."""
    return torch.cat([memory.transpose(0, 1).to(segment.dtype), segment])


def windows(line: Tensor, length: int, count: int) -> Tensor:
    """Return a view [count, B, length, ...] of a timeline: entry t holds rows t to t + length of
    the timeline."""
    return line.unfold(0, length, 1)[:count].movedim(-1, 2)


def latest(line: Tensor, length: int) -> Tensor:
    """Return the memory [B, length, ...] after the timeline."""
    return line[len(line) - length :].transpose(0, 1)


def attention(scores: Tensor, filled: Tensor) -> Tensor:
    """Compute softmax over the last dimension of ``scores`` where ``filled``; 0 elsewhere, and
    everywhere if nothing is filled."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    masked = wide.masked_fill(~filled, torch.finfo(wide.dtype).min)
    return (torch.softmax(masked, dim=-1) * filled).to(scores.dtype)
