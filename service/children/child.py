"""Lines to a process beside this one: an order goes there, replies come back.

Threads of one interpreter hold each other up; what takes long has an interpreter of its own.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple

from reranker.process.cancellation import Cancellation

# How often to look whether anybody still waits, on this side and on the other.
_LOOKING_SECONDS, _HEARING_SECONDS = 0.02, 0.005

# How long to wait for the process to end by itself.
_ENDING_SECONDS = 0.5

_STOP, _PAUSE, _GO_ON = ("stop",), ("pause",), ("go on",)
"""Sent while an order is carried out: nobody waits any more; others come first; go on."""

MORE = "more"
"""The kind of a reply that is not the last."""


class Lost(Exception):
    """The other process ended, or an order failed there; ``description`` is for the log."""

    def __init__(self, message: str, description: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.description = description or {"error": message}


class Running(NamedTuple):
    """A process, and the lines to it."""

    process: subprocess.Popen[bytes]
    lines: Sequence[Connection]

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def lost(self) -> Lost:
        """How it ended, which it has or is about to."""
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(_ENDING_SECONDS)
        if status is not None and status < 0:
            why = " (perhaps for lack of memory)" if status == -signal.SIGKILL else ""
            return Lost(f"a process was ended by {signal.Signals(-status).name}{why}")
        return Lost(f"a process ended with status {status}")


class Beside:
    """A process that runs a module, as often as it has to be started."""

    def __init__(self, module: str, lines: int) -> None:
        self._module, self._count = module, lines
        self._lock = threading.Lock()
        self._running: Running | None = None
        self._is_closed = False

    @property
    def running(self) -> Running | None:
        """None if it has not been started, or has ended."""
        running = self._running
        return running if running is not None and running.is_alive else None

    @property
    def memory(self) -> float:
        """Bytes that it holds in RAM."""
        running = self.running
        return 0.0 if running is None else resident_memory(running.process.pid)

    def start(self) -> Running:
        """Start it, with new lines; raises Lost once it has been closed."""
        pairs = [Pipe() for _ in range(self._count)]
        theirs = [pair[1] for pair in pairs]
        numbers = [connection.fileno() for connection in theirs]
        with self._lock:
            if self._is_closed:
                raise Lost("the service is stopping")
            # What a terminal sends is for the service alone: hence a process group.
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", self._module, *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                pass_fds=numbers,
                process_group=0,
            )
            self._running = Running(process, [pair[0] for pair in pairs])
        for connection in theirs:
            connection.close()
        return self._running

    def end(self) -> None:
        """End the process, whatever it does; it can be started again."""
        running = self._running
        if running is not None:
            running.process.kill()
            running.process.wait()

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._is_closed = True
        self.end()


def resident_memory(process: int | str = "self") -> float:
    """Bytes of a process in RAM; 0 where that is not known."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except OSError:  # not on Linux, or ended
        return 0.0
    return float(pages) * os.sysconf("SC_PAGE_SIZE")


def replies(
    line: Connection, order: object, cancellation: Cancellation, patience: float = math.inf
) -> Iterator[Any]:
    """What comes back, to the last reply, each of a kind and a value. Cancelling and pausing are
    passed on to the other side. Raises EOFError or OSError if it has ended, TimeoutError if it was
    cancelled and nothing came back for ``patience`` seconds."""
    is_told = is_done = is_paused = False
    until = math.inf
    try:
        line.send(order)
        while not is_done:
            while not line.poll(_LOOKING_SECONDS):
                if cancellation.is_cancelled and not is_told:
                    line.send(_STOP)
                    is_told, until = True, time.monotonic() + patience
                elif time.monotonic() > until:
                    raise TimeoutError
                elif cancellation.is_paused != is_paused:
                    is_paused = not is_paused
                    line.send(_PAUSE if is_paused else _GO_ON)
            kind, value = line.recv()
            is_done = kind != MORE
            yield kind, value
    finally:
        if not is_done:  # the rest would be taken for replies to the next order
            line.close()


# What follows runs in the other process.


def lines_to_service() -> Sequence[Connection]:
    """Those that this process was started with; signals are for the service, which will end us."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.disable()  # what users sent belongs in no log
    return [Connection(int(number)) for number in sys.argv[1:]]


Answers = Callable[[Any, Cancellation], Iterator[tuple[str, object]]]


def answer_all(line: Connection, answers: Answers, after: Callable[[], None] | None = None) -> None:
    """Obey the orders of a line; then end the process, whatever others do in it: a line ends with
    the service, or because something is wrong. ``after`` is called after each order."""
    status = 1
    try:
        while True:
            order = line.recv()
            if order not in (_STOP, _PAUSE, _GO_ON):  # these came after the last reply had gone out
                _answer(line, order, answers)
            del order
            if after is not None:
                after()
    except (EOFError, ConnectionError):
        status = 0
    finally:
        os._exit(status)  # without a traceback, which could quote what users sent


def _answer(line: Connection, order: object, answers: Answers) -> None:
    hearing = _Hearing(line)
    for reply in answers(order, hearing):
        if reply[0] != MORE:
            hearing.end()
        line.send(reply)


def answer_in_thread(
    line: Connection, answers: Answers, after: Callable[[], None] | None = None
) -> None:
    threading.Thread(target=answer_all, args=(line, answers, after), daemon=True).start()


class _Hearing(Cancellation):
    """Follows what the service sends while an order is carried out; cancelled, too, if the service
    ends."""

    def __init__(self, line: Connection) -> None:
        super().__init__()
        self._line = line
        self._next_look = 0.0
        self._lock = threading.Lock()  # several threads look
        self._has_ended = False

    @property
    def is_cancelled(self) -> bool:
        self._hear()
        return super().is_cancelled

    @property
    def is_paused(self) -> bool:
        self._hear()
        return super().is_paused

    def end(self) -> None:
        """What comes from now on is not for this order."""
        with self._lock:
            self._has_ended = True

    def _hear(self) -> None:
        if time.monotonic() < self._next_look:
            return
        with self._lock:
            now = time.monotonic()
            if now < self._next_look:
                return
            self._next_look = now + _HEARING_SECONDS
            try:
                while not self._has_ended and self._line.poll():
                    self._obey(self._line.recv())
            except (EOFError, OSError):
                self._has_ended = True
                self.cancel()

    def _obey(self, word: object) -> None:
        if word == _PAUSE:
            self.pause()
        elif word == _GO_ON:
            self.go_on()
        else:
            self.cancel()
