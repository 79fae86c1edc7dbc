"""The resources that a service uses while it runs, and the lines of its log; Linux only."""

from __future__ import annotations

import contextlib
import os
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.costs import megabytes, status
from benchmarks.servers import Server
from benchmarks.service_load.kind import Asked

_TICK_SECONDS = 0.005
_PAUSE_SECONDS = 0.01  # less is nothing
_CRASH = "scoring crashed and is restarted"


class UsageSample(NamedTuple):
    """The resources that a process and its children use, at a time by time.monotonic()."""

    when: float
    megabytes: float
    threads: int
    descriptors: int


class Sleeper(NamedTuple):
    """A process that wakes up every five milliseconds and does nothing else: what the machine
    itself adds to every answer's time."""

    late: list[float]  # by how many seconds it wakes up too late, smallest first
    pauses: list[tuple[float, float]]  # when it should have been awake and was not, in order

    def without_pauses(self, asked: Asked) -> Asked:
        """Return the answer times less the pauses while each answer was awaited."""
        ends = [end for _, end in self.pauses]
        seconds = []
        for due, taken in zip(asked.due, asked.seconds, strict=True):
            met = islice(self.pauses, bisect_right(ends, due), None)
            paused, answered = 0.0, due + taken
            for start, end in met:
                if start >= answered:
                    break
                paused += min(end, answered) - max(start, due)
            seconds.append(taken - paused)
        return asked._replace(seconds=seconds)


def sleep_lightly(since: float, until: float) -> Sleeper:
    late, pauses = [], []
    due = awake = since
    while due < until:
        time.sleep(max(0.0, due - time.monotonic()))
        now = time.monotonic()
        late.append(now - due)
        start, awake = max(due, awake), now
        if now - start >= _PAUSE_SECONDS:
            pauses.append((start, now))
        due += _TICK_SECONDS
    return Sleeper(sorted(late), pauses)


def usage(pid: int) -> UsageSample:
    """Return the usage of a process and its children; all zero if the process has ended."""
    held, threads, descriptors = 0.0, 0, 0
    for process in _with_children(pid):
        with contextlib.suppress(OSError):  # ended in the meantime
            held += megabytes("VmRSS", process)
            threads += int(status(process)["Threads"])
            descriptors += len(list(Path(f"/proc/{process}/fd").iterdir()))
    return UsageSample(time.monotonic(), held, threads, descriptors)


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its children so far, ended ones included."""
    ticks = 0
    for process in _with_children(pid):
        with contextlib.suppress(OSError):  # ended in the meantime
            fields = Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2]
            ticks += sum(map(int, fields.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _with_children(pid: int) -> Iterator[int]:
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in file.read_text("ascii").split():
                yield from _with_children(int(child))


class Tally:
    """A count of the lines of the server's log, which is too long to keep."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()  # of all answers, whoever got them
        self.errors: list[str] = []  # internal ones, and crashes

    def take(self, server: Server) -> None:
        """Count the lines so far and drop them."""
        count = len(server.log)
        lines, server.log[:count] = server.log[:count], []
        for line in lines:
            if line.get("status"):
                code = f" {line.get('code', line['event'])}" if line["status"] >= 500 else ""
                self.statuses[f"{line['status']}{code}"] += 1
            if line["event"] in ("internal error", _CRASH):
                self.errors.append(f"{line['event']}: {line.get('error')} at {line.get('where')}")
