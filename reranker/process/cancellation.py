"""Cancelling and pausing of computations in other threads, and waiting that Ctrl-C ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

# The seconds between two polls of a paused computation.
_POLL_SECONDS = 0.01
_SIGNAL_SECONDS = 0.5  # between two checks for signals


class Stopped(Exception):
    """A cancellation by the caller."""


class Cancellation:
    """A flag shared by a caller, who may cancel, and the computation, which polls it."""

    def __init__(self, outer: Cancellation | None = None) -> None:
        """Create a flag that is also set whenever ``outer`` is."""
        self._cancelled, self._paused = threading.Event(), threading.Event()
        self._outer = outer

    def cancel(self) -> None:
        self._cancelled.set()

    def pause(self) -> None:
        """Make the computation wait until resume() or cancel()."""
        self._paused.set()

    def resume(self) -> None:
        self._paused.clear()

    @property
    def is_paused(self) -> bool:
        return self._paused.is_set() or (self._outer is not None and self._outer.is_paused)

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set() or (self._outer is not None and self._outer.is_cancelled)

    def until_cancelled(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items; raise Stopped at the first item after the caller cancelled. Yield
        nothing while paused."""
        for item in items:
            while self.is_paused and not self.is_cancelled:
                time.sleep(_POLL_SECONDS)
            if self.is_cancelled:
                raise Stopped
            yield item


def result_of(future: Future[T]) -> T:
    """Return ``future.result()``, waiting a little at a time.

    Python looks for signals before it begins to wait, and a signal ends a wait that has begun. A
    signal that arrives in between does neither: while another thread starts a program, that gap can
    last a millisecond, and an endless wait would leave Ctrl-C without effect.
    """
    while not wait([future], _SIGNAL_SECONDS).done:
        pass
    return future.result()
