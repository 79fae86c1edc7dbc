"""The members of an ensemble, language models and span models: their files, and the devices and
the precision that they compute with."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args
from weakref import WeakValueDictionary

import torch

from reranker.checkpoints import checkpoint, span_file
from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.model_file import checked_path
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.errors import InputError

LoadedMember = Checkpoint | SpanCheckpoint
Precision = Literal["exact", "fast"]


def load_member(path: str | os.PathLike[str], sha256: str = "") -> LoadedMember:
    """Read a member of either kind. Raises CheckpointError as ``load_checkpoint`` does."""
    path = checked_path(path)
    archive = read_archive(path, sha256)
    if span_file.FORMAT.matches(archive.content):
        return span_file.FORMAT.opened(path, archive)
    return checkpoint.FORMAT.opened(path, archive)


def devices(names: str) -> list[torch.device]:
    """Return the devices named ``cpu``, ``cuda``, ``cuda:0,cuda:1``, or ``auto``: every CUDA
    device, else the CPU.

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


def load_placed(
    path: str | os.PathLike[str], sha256: str, device: torch.device, precision: Precision
) -> LoadedMember:
    """Load a member with ``load_member``, with weights on the device in float32. With ``fast``, a
    model on a CPU computes with products of 8-bit integers where they are faster and its file has
    no more bits (reranker.models.products).

    A span model already in use in the same way is not loaded twice: the model that parses a
    sentence can rank its trees with the same reading (scoring.span_table). Raises CheckpointError
    as ``load_member`` does, and InputError for another ``precision``.
    """
    if precision not in get_args(Precision):
        raise InputError(f"precision must be 'exact' or 'fast', got {precision!r}")
    with _lock:
        in_use = _in_use.get((sha256, device, precision))
    if in_use is not None:
        return in_use
    # Load in one thread: the others would spin while they wait, and take most of the time.
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as alone:
        member = alone.submit(load_member, path, sha256).result()
        alone.submit(member.model.to, device).result()
        if precision == "fast":
            alone.submit(member.model.round_products).result()
        if isinstance(member, Checkpoint):
            return member
    with _lock:
        return _in_use.setdefault((member.sha256, device, precision), member)


_lock = threading.Lock()
_in_use: WeakValueDictionary[tuple[str, torch.device, Precision], SpanCheckpoint] = (
    WeakValueDictionary()
)


def gpu_memory() -> float:
    """Return the bytes that this process holds on GPUs; 0 if it uses none."""
    return float(sum(map(torch.cuda.memory_reserved, range(torch.cuda.device_count()))))
