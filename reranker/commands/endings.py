"""How a command ends: exit status and message of one that fails, and Ctrl-C, SIGTERM and a closing
terminal, each of which ends it soon without losing anything."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from reranker.errors import RerankError, lacks_memory

OUT_OF_MEMORY = 3  # exit status

_MOST_REASON = 200  # characters


def ending(error: Exception, advice: str | None) -> tuple[int, str]:
    """Return the exit code and message for an error that a user can do something about; ``advice``
    tells how the command takes less memory; None if the command has no advice. Raise any other
    error again."""
    if lacks_memory(error):
        reason = str(error).strip().partition("\n")[0][:_MOST_REASON]
        if isinstance(error, ImportError):
            reason = "a library cannot be loaded"
        because = f" ({reason})" if reason else ""
        advice = advice or "smaller files take less"
        notes = "".join(getattr(error, "__notes__", ()))
        return OUT_OF_MEMORY, f"out of memory{because}; {advice}{notes}"
    if isinstance(error, RerankError):
        return 2, str(error)
    # Errors of a command's files are RerankErrors, which name them.
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        return 2, f"standard output or standard error: cannot be written: {error.strerror}"
    raise error


INTERRUPTED = 130  # exit status

# The rest of the work takes no time; if something waits for ever, this ends the process.
_SECONDS_TO_END = 5.0

_handlers: list[Callable[[], None]] = []

_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class _Deferral:
    """The number of ``deferred`` contexts, and True if an interruption waits for their end."""

    depth = 0
    is_waiting = False


def interrupt_at_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, except a signal that is ignored, as
    SIGHUP is under nohup. A second signal ends the process at once: the run can be resumed
    anyway."""
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
    """Defer interruptions while code runs that an interruption would break, such as the import of
    PyTorch, whose C++ code cannot be interrupted."""
    _Deferral.depth += 1
    try:
        yield
    finally:
        _Deferral.depth -= 1
    if _Deferral.is_waiting and not _Deferral.depth:
        _interrupt()


def dealt_with() -> None:
    """Note that the command has printed its message about the interruption."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def at_exit(handler: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called when the process ends, even after an interruption, which
    skips Python's exit handlers; return the function."""
    _handlers.append(handler)
    return atexit.register(handler)


def leave(code: int) -> NoReturn:
    """End the process; after an interruption, without waiting for running computations."""
    if code == INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for handler in _handlers:
            handler()
        os._exit(code)
    sys.exit(code)


def _interrupt() -> NoReturn:
    signal.signal(signal.SIGALRM, lambda *_: os._exit(INTERRUPTED))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_END)
    raise KeyboardInterrupt
