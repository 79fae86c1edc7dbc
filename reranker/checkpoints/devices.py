"""Where and how precisely to compute, and in what memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, get_args

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError

Precision = Literal["exact", "fast"]

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # of glibc's mallopt


def devices(names: str) -> list[torch.device]:
    """``cpu``, ``cuda``, ``cuda:0,cuda:1``, or ``auto``: every CUDA device, else the CPU.

    Raises InputError for an unknown device and for one that this machine does not have.
    """
    if not isinstance(names, str):
        raise InputError(f"device {names!r} is not auto, cpu, cuda or cuda:N")
    if names == "auto":
        gpus = [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
        return gpus or [torch.device("cpu")]
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
    """The members on the devices in turn, with weights in float32 (``exact``) or bfloat16
    (``fast``; sums stay in float32), which moves a tree's log-probability by up to half a nat."""
    if precision not in get_args(Precision):
        raise InputError(f"precision is 'exact' or 'fast', not {precision!r}")
    dtype = torch.bfloat16 if precision == "fast" else torch.float32
    return [
        replace(member, model=member.model.to(where[number % len(where)], dtype))
        for number, member in enumerate(members)
    ]


def keep_freed_memory() -> None:
    """Ask glibc to keep and reuse the memory that tensors free; with another C library, do nothing.

    glibc returns blocks over 128 KiB to the system when they are freed, and takes fresh, zeroed
    pages for the next one: every training step and every scored batch would pay for all its pages
    in page faults.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def share_freed_memory(threads: int) -> None:
    """Ask glibc for no more heaps than threads that compute: what each frees stays with its heap,
    and by default every thread gets one. With another C library, do nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, threads)


def return_freed_memory() -> None:
    """Have glibc give back to the system what was freed; with another C library, do nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
