"""Where and how precisely to compute."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, TypeVar, cast, get_args
from weakref import WeakValueDictionary

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.errors import InputError

Precision = Literal["exact", "fast"]
Member = TypeVar("Member", bound=Checkpoint | SpanCheckpoint)


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
    members: Sequence[Member], where: Sequence[torch.device], precision: Precision
) -> list[Member]:
    """The members on the devices in turn, with weights in float32 (``exact``) or bfloat16
    (``fast``; sums stay in float32), which moves a tree's log-probability by up to half a nat.

    A span model that is in use already, in the same place and precision, is not loaded twice: that
    which parses a sentence can rank its trees by the same reading (scoring.span_table)."""
    if precision not in get_args(Precision):
        raise InputError(f"precision is 'exact' or 'fast', not {precision!r}")
    dtype = _dtype(precision)
    return [_placed(member, where[n % len(where)], dtype) for n, member in enumerate(members)]


def span_model_in_use(
    sha256: str, device: torch.device, precision: Precision
) -> SpanCheckpoint | None:
    """The span model of a file with this SHA-256, if it has been ``placed`` there already."""
    with _lock:
        return _in_use.get((sha256, device, _dtype(precision)))


def _dtype(precision: Precision) -> torch.dtype:
    return torch.bfloat16 if precision == "fast" else torch.float32


_lock = threading.Lock()
_in_use: WeakValueDictionary[tuple[str, torch.device, torch.dtype], SpanCheckpoint] = (
    WeakValueDictionary()
)


def _placed(member: Member, device: torch.device, dtype: torch.dtype) -> Member:
    member.model.to(device, dtype)
    if not isinstance(member, SpanCheckpoint) or not member.sha256:
        return member
    with _lock:
        return cast(Member, _in_use.setdefault((member.sha256, device, dtype), member))


def gpu_memory() -> float:
    """Bytes that this process holds on GPUs; 0 if it uses none."""
    return float(sum(map(torch.cuda.memory_reserved, range(torch.cuda.device_count()))))
