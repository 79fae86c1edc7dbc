"""The processes that train one model together, and how they communicate.

torch's launchers start them: ``rerank train --nproc N``, or ``torchrun`` itself. Every process has
the whole model and the whole data; they differ in the shards of a batch they compute
(``reranker.plugins.training.loop.shards``). Number 0 alone writes files and reports progress.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from reranker.errors import InputError, RerankError

T = TypeVar("T")

logger = logging.getLogger(__name__)

_SET_BY_LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# A launcher looks every 0.1 seconds, and ends the others when one has died.
_SECONDS_TO_BE_ENDED = 10.0
# Others wait so long for the first when it alone reads a long dev text or writes a token file. A
# process that has died is noticed at once.
_PATIENCE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Processes:
    """``size`` processes, of which this one is number ``rank``. All must call the same methods in
    the same order; with a single process these return at once."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def first(self, number: float) -> float:
        """Return the ``number`` of process 0, so that all decide alike."""
        if self.size == 1:
            return number
        number_of_0 = torch.tensor([number], dtype=torch.float64)
        with _contact():
            distributed.broadcast(number_of_0, 0)
        return float(number_of_0)

    def gather(self, value: T) -> list[T]:
        """Return the ``value`` of each process."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        with _contact():
            distributed.all_gather_object(values, value)
        return values

    def exchange(self, parts: Tensor) -> Tensor:
        """Exchange ``parts`` [N, ...], one part for each process; return each process's part for
        this one."""
        received = torch.empty_like(parts)
        with _contact():
            distributed.all_to_all_single(received, parts)
        return received

    def join(self, part: Tensor) -> Tensor:
        """Return the parts [n] of all processes, concatenated, [N n]."""
        joined = part.new_empty(self.size * len(part))
        with _contact():
            distributed.all_gather_single(joined, part)
        return joined

    def shares(self, items: Sequence[T]) -> Sequence[T]:
        """Return every ``size``-th of ``items``, this process's share of the work."""
        return items[self.rank :: self.size]

    def merged(self, results: Sequence[T]) -> list[T]:
        """Return the results of all processes for their ``shares``, in the order of the items."""
        parts = self.gather(list(results))
        count = sum(map(len, parts))
        return [parts[number % self.size][number // self.size] for number in range(count)]

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Raise any process's RerankError in all of them, so that none waits in vain."""
        error: RerankError | None = None
        try:
            yield
        except RerankError as raised:
            error = raised
        if self.size == 1:
            if error:
                raise error
            return
        messages = self.gather(error and str(error))
        if error:
            raise error
        for rank, message in enumerate(messages):
            if message:
                raise InputError(f"process {rank} of {self.size}: {message}")

    def check_equal(self, value: object, what: str) -> None:
        """Raise InputError naming a process whose ``value`` differs from that of process 0."""
        values = self.gather(value)
        for rank, other in enumerate(values):
            if other != values[0]:
                raise InputError(
                    f"process {rank} of {self.size} differs from process 0 in its {what}"
                )


def are_launched() -> bool:
    """Return whether a launcher started this process as one of several."""
    return all(name in os.environ for name in _SET_BY_LAUNCHERS)


def own_threads() -> int:
    """Return the threads of one process when those on this machine share its cores."""
    return max(1, torch.get_num_threads() // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))


@contextmanager
def joined(device: str) -> Iterator[tuple[Processes, str]]:
    """Join the launcher's other processes; yield them and this one's device, which for ``cuda`` is
    the GPU of its number on this machine.

    Raises InputError if they cannot be reached or there are fewer GPUs than processes.
    """
    if not are_launched():
        yield Processes(), device
        return
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local = int(os.environ.get("LOCAL_RANK", rank))
    here = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if device.startswith("cuda"):
        device = own_gpu(device, local, here)
        torch.cuda.set_device(device)
    backend = "cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo"
    try:
        distributed.init_process_group(
            backend, timeout=_PATIENCE, store=_store(), rank=rank, world_size=size
        )
    except (RuntimeError, ValueError, OSError) as error:
        address = ":".join(os.environ[name] for name in _SET_BY_LAUNCHERS[2:])
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot reach the other processes at {address}: {reason}") from error
    try:
        yield Processes(rank, size), device
    finally:
        distributed.destroy_process_group()


def _store() -> Store:
    """Return the store in which the processes leave their addresses for each other.

    An elastic launcher keeps one store for all its attempts, with the addresses of processes that
    are gone (pytorch issue 135712), so each attempt has keys of its own. Launchers on several
    machines may count their attempts differently; theirs have to be kept apart by
    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1.
    """
    store: Store = next(rendezvous("env://"))[0]
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"attempt {attempt}", store)
    return store


def own_gpu(device: str, number: int, processes: int) -> str:
    """Return the GPU of process ``number`` here. Raises InputError if there are too few."""
    if device != "cuda":
        raise InputError(
            f"--device {device}: with several processes, use cuda; each process takes one device"
        )
    count = torch.cuda.device_count()
    if count < processes:
        devices = "1 CUDA device" if count == 1 else f"{count or 'no'} CUDA devices"
        raise InputError(
            f"{processes} processes need one CUDA device each, but there are {devices}"
        )
    return f"cuda:{number}"


@contextmanager
def _contact() -> Iterator[None]:
    """Explain torch's error about a process that has gone. The launcher knows which process that
    is, and gets a moment to say so and to end this process."""
    try:
        yield
    except RuntimeError as error:
        logger.warning("lost contact with another process; the launcher names the one that died")
        time.sleep(_SECONDS_TO_BE_ENDED)
        reason = str(error).splitlines()[0]
        raise RerankError(
            f"lost contact with another process of this run ({reason}); "
            "the same command resumes from the last saved state"
        ) from error
