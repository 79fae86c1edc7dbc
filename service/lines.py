"""Lines to a process beside this one: an order goes there, replies come back.

Threads of one interpreter hold each other up; what takes long has an interpreter of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

from reranker.scoring.cancellation import Cancellation

# How often to look whether anybody still waits, on this side and on the other.
_LOOKING_SECONDS, _HEARING_SECONDS = 0.02, 0.005

# How long to wait for the process to end by itself.
_ENDING_SECONDS = 0.5

_STOP = ("stop",)
"""Nobody waits any more."""

MORE = "more"
"""The kind of a reply that is not the last."""


class Lost(Exception):
    """The other process ended, or an order failed there; ``description`` is for the log."""

    def __init__(self, message: str, description: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.description = description or {"error": message}


class Beside:
    """A process that runs a module, as often as it has to be started."""

    def __init__(self, module: str, lines: int) -> None:
        self._module, self._count = module, lines
        self._process: subprocess.Popen[bytes] | None = None
        self.lines: list[Connection] = []
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, with new lines; raises Lost once it has been closed."""
        if self._is_closed:
            raise Lost("the service is stopping")
        self._hang_up()
        pairs = [Pipe() for _ in range(self._count)]
        theirs = [pair[1] for pair in pairs]
        numbers = [connection.fileno() for connection in theirs]
        # What a terminal sends is for the service alone: hence a process group.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            pass_fds=numbers,
            process_group=0,
        )
        for connection in theirs:
            connection.close()
        self.lines = [pair[0] for pair in pairs]

    def lost(self) -> Lost:
        """How it ended."""
        status = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_ENDING_SECONDS)
        name = self._module.rpartition(".")[2]
        if status is not None and status < 0:
            why = " (perhaps for lack of memory)" if status == -signal.SIGKILL else ""
            return Lost(f"{name} was ended by {signal.Signals(-status).name}{why}")
        return Lost(f"{name} ended with status {status}")

    def close(self) -> None:
        """End the process, whatever it does."""
        self._is_closed = True
        self._hang_up()
        if self._process is None:
            return
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hang_up(self) -> None:
        for connection in self.lines:
            with contextlib.suppress(OSError):
                connection.close()


def replies(line: Connection, order: object, cancellation: Cancellation) -> Iterator[Any]:
    """What comes back, to the last reply, each of a kind and a value. Once cancelled, the other
    side is told. Raises EOFError or OSError if it has ended."""
    line.send(order)
    is_told = False
    kind = MORE
    while kind == MORE:
        while not line.poll(_LOOKING_SECONDS):
            if cancellation.is_cancelled and not is_told:
                line.send(_STOP)
                is_told = True
        kind, value = line.recv()
        yield kind, value


# What follows runs in the other process.


def lines_to_service() -> Sequence[Connection]:
    """Those that this process was started with; signals are for the service, which will end us."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return [Connection(int(number)) for number in sys.argv[1:]]


Answers = Callable[[Any, Cancellation], Iterator[tuple[str, object]]]


def answer_all(line: Connection, answers: Answers) -> None:
    """Obey the orders of a line; returns when the service has ended."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            order = line.recv()
            if order != _STOP:  # which came after the last reply had gone out
                for reply in answers(order, _Hearing(line)):
                    line.send(reply)


def answer_in_thread(line: Connection, answers: Answers) -> None:
    threading.Thread(target=answer_all, args=(line, answers), daemon=True).start()


def end() -> None:
    """At once, whatever other threads do."""
    os._exit(0)


class _Hearing(Cancellation):
    """Cancelled by what the service sends meanwhile: word to stop, or its end."""

    def __init__(self, line: Connection) -> None:
        super().__init__()
        self._line = line
        self._next_look = 0.0

    @property
    def is_cancelled(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _HEARING_SECONDS
            if self._line.poll():
                self.cancel()
        return super().is_cancelled
