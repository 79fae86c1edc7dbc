"""Waiting that Ctrl-C ends."""

from __future__ import annotations

from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

_SECONDS = 0.5  # between two looks for signals


def result_of(future: Future[T]) -> T:
    """``future.result()``, but waits a little at a time.

    Python looks for signals before it begins to wait, and a signal ends a wait that has begun. A
    signal that arrives in between does neither: while another thread starts a program, that can
    last a millisecond, and an endless wait would leave Ctrl-C without effect.
    """
    while not wait([future], _SECONDS).done:
        pass
    return future.result()
