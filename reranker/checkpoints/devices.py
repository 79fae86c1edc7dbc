"""Where and how precisely to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError

Precision = Literal["exact", "fast"]


def devices(names: str) -> list[torch.device]:
    """``cpu``, ``cuda``, ``cuda:0,cuda:1``, or ``auto``: every CUDA device, else the CPU.

    Raises InputError for what is no device, or not here.
    """
    if names == "auto":
        found = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
        return found or [torch.device("cpu")]
    return [_device(name) for name in names.split(",")]


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"device {name!r} is not auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device {name}: no such CUDA device here; use cpu or auto")
    return device


def placed(
    members: Sequence[Checkpoint], where: Sequence[torch.device], precision: Precision
) -> list[Checkpoint]:
    """The members on the devices in turn, their numbers as ``precision`` has them: float32, or
    bfloat16 (sums stay in float32), which moves a tree's log-probability by up to half a nat."""
    dtype = torch.bfloat16 if precision == "fast" else torch.float32
    return [
        replace(member, model=member.model.to(where[number % len(where)], dtype))
        for number, member in enumerate(members)
    ]
