"""Waiting that Ctrl-C ends."""

from __future__ import annotations

from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.5  # between two checks for signals


def result_of(future: Future[T]) -> T:
    """Return ``future.result()``, waiting a little at a time.

    Python looks for signals before it begins to wait, and a signal ends a wait that has begun. A
    signal that arrives in between does neither: while another thread starts a program, that gap can
    last a millisecond, and an endless wait would leave Ctrl-C without effect.
    """
    while not wait([future], _POLL_SECONDS).done:
        pass
    return future.result()
