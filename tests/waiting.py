"""Waiting for something, however long it takes on the machine, and several threads' work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from benchmarks.servers import PATIENCE as PATIENCE

T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """Wait for the condition; return its value once it is true."""
    give_up = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < give_up, "it has not happened"
        time.sleep(0.01)
    return value


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in a thread of its own: once a test has opened a page,
    Playwright's event loop is running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def at_once(threads: int, work: Callable[[], T]) -> list[T]:
    """Let threads that have all begun do the same work; return what each has found."""
    begun = threading.Barrier(threads)

    def begin(_: int) -> T:
        begun.wait()
        return work()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))
