"""How a caller stops what is computed for it in other threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The caller cancelled."""


class Cancellation:
    """Shared by a caller, who may cancel, and what computes for it, which looks now and then."""

    def __init__(self, outer: Cancellation | None = None) -> None:
        """Of a part of something that can be cancelled as a whole, by ``outer``."""
        self._cancelled = threading.Event()
        self._outer = outer

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set() or (self._outer is not None and self._outer.is_cancelled)

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """The items; raises Stopped at the first one after the caller cancelled."""
        for item in items:
            if self.is_cancelled:
                raise Stopped
            yield item
