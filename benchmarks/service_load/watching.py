"""What a service uses while it runs, and what its log says; Linux only."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.service.servers import Server

_TICK_SECONDS = 0.005
_CRASH = "the scoring thread crashed and is restarted"


class Usage(NamedTuple):
    """Of a process and its children, at a time by time.monotonic()."""

    when: float
    megabytes: float
    threads: int
    descriptors: int


def lateness(since: float, until: float) -> list[float]:
    """By how many seconds a process that does nothing else wakes up too late, every five
    milliseconds, smallest first: what the machine itself adds to every answer's time."""
    late = []
    due = since
    while due < until:
        time.sleep(max(0.0, due - time.monotonic()))
        late.append(time.monotonic() - due)
        due += _TICK_SECONDS
    return sorted(late)


def usage(pid: int) -> Usage:
    """All zero if the process has ended."""
    megabytes, threads, descriptors = 0.0, 0, 0
    for process in _with_children(pid):
        with contextlib.suppress(OSError):  # ended in the meantime
            status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
            fields = dict(line.split(":", 1) for line in status.splitlines())
            megabytes += int(fields.get("VmRSS", "0 kB").split()[0]) / 1024
            threads += int(fields["Threads"])
            descriptors += len(list(Path(f"/proc/{process}/fd").iterdir()))
    return Usage(time.monotonic(), megabytes, threads, descriptors)


def _with_children(pid: int) -> Iterator[int]:
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in file.read_text("ascii").split():
                yield from _with_children(int(child))


class Tally:
    """Of the server's log, which is too long to be kept."""

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
