"""How a caller stops or pauses computations in other threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# How often what is paused looks whether it may go on.
_LOOKING_SECONDS = 0.01


class Stopped(Exception):
    """The caller cancelled."""


class Cancellation:
    """Shared by a caller, who may cancel, and the computation, which checks now and then."""

    def __init__(self, outer: Cancellation | None = None) -> None:
        """With ``outer``, this belongs to something that can be cancelled as a whole."""
        self._cancelled, self._paused = threading.Event(), threading.Event()
        self._outer = outer

    def cancel(self) -> None:
        self._cancelled.set()

    def pause(self) -> None:
        """Make the computation wait until go_on() or cancel()."""
        self._paused.set()

    def go_on(self) -> None:
        self._paused.clear()

    @property
    def is_paused(self) -> bool:
        return self._paused.is_set() or (self._outer is not None and self._outer.is_paused)

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set() or (self._outer is not None and self._outer.is_cancelled)

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """The items; raises Stopped at the first one after the caller cancelled. Yields nothing
        while paused."""
        for item in items:
            while self.is_paused and not self.is_cancelled:
                time.sleep(_LOOKING_SECONDS)
            if self.is_cancelled:
                raise Stopped
            yield item
