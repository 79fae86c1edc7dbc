"""The time that some work takes, and the memory of a process."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Cost(NamedTuple):
    """The time of some work, in seconds: of a processor, all processes together, and on the
    wall."""

    processor: float
    wall: float


def timed(work: Callable[[], T]) -> tuple[T, Cost]:
    """Return the result of the work and its cost; processes that the work starts have to end in
    it."""
    processor, wall = _processor(), time.perf_counter()
    result = work()
    return result, Cost(_processor() - processor, time.perf_counter() - wall)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def status(process: int | str = "self") -> dict[str, str]:
    """Return the fields of a process's status; Linux only."""
    text = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    return dict(line.split(":", 1) for line in text.splitlines())


def megabytes(field: str, process: int | str = "self") -> float:
    """Return the resident memory of a process: ``VmRSS`` now, ``VmHWM`` the most so far; 0 for one
    that has just ended.

    Not ``ru_maxrss``: a child starts with its parent's there.
    """
    return int(status(process).get(field, "0 kB").split()[0]) / 2**10


def peak_megabytes(command: Sequence[str]) -> float:
    """Run a command to its end; return the most memory that it held, asked every 10 ms."""
    most = 0.0
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=null, stderr=null) as process:
        while process.poll() is None:
            most = max(most, megabytes("VmHWM", process.pid))
            time.sleep(0.01)
    return most
