"""Cancelling and pausing of computations in other threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# The seconds between two polls of a paused computation.
_POLL_SECONDS = 0.01


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

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items; raise Stopped at the first item after the caller cancelled. Yield
        nothing while paused."""
        for item in items:
            while self.is_paused and not self.is_cancelled:
                time.sleep(_POLL_SECONDS)
            if self.is_cancelled:
                raise Stopped
            yield item
