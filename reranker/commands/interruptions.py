"""Ctrl-C, SIGTERM and a closing terminal: each ends a command soon, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # exit status

# What is left to do then takes no time; should something wait for ever, this ends it.
_SECONDS_TO_END = 5.0

_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class _Deferral:
    """Whether interruptions are deferred, and whether one is waiting."""

    depth = 0
    is_waiting = False


def interrupt_at_signals() -> None:
    """Make each of these signals raise KeyboardInterrupt, unless it is ignored, as SIGHUP is under
    nohup. A second one ends the process at once: the run can be resumed anyway."""
    handled = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in handled:
            signal.signal(other, signal.SIG_DFL)
        if _Deferral.depth:
            _Deferral.is_waiting = True
        else:
            _interrupt()

    _Deferral.is_waiting = False
    for number in handled:
        signal.signal(number, interrupt)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Defer interruptions during something that they would break, such as importing PyTorch, whose
    C++ code cannot be interrupted."""
    _Deferral.depth += 1
    try:
        yield
    finally:
        _Deferral.depth -= 1
    if _Deferral.is_waiting and not _Deferral.depth:
        _interrupt()


def dealt_with() -> None:
    """The command has printed its message about the interruption."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def leave(code: int) -> NoReturn:
    """End the process; after an interruption, without waiting for running computations."""
    if code == INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _interrupt() -> NoReturn:
    signal.signal(signal.SIGALRM, lambda *_: os._exit(INTERRUPTED))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_END)
    raise KeyboardInterrupt
