"""The cores that this process may use, and the fate of memory that it frees: settings of glibc."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress

RETURNING_SECONDS = 10.0
"""The seconds after which long-lived processes return freed memory again."""
MOST_THREADS = 1_024
"""The most threads, whatever number is asked for: each makes a run read ahead."""

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # of glibc's mallopt


def available_cores() -> int:
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def keep_freed_memory() -> None:
    """Ask glibc to keep and reuse the memory that tensors free; with another C library, do nothing.

    glibc returns blocks over 128 KiB to the system when they are freed, and takes fresh, zeroed
    pages for the next one: every training step and every scored batch would pay for all its pages
    in page faults.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def share_freed_memory(threads: int) -> None:
    """Ask glibc for no more heaps than there are computing threads: freed memory stays with its
    heap, and by default every thread gets one. With another C library, do nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, threads)


def return_freed_memory() -> None:
    """Make glibc return freed memory to the system; with another C library, do nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def periodic_memory_return() -> Callable[[], None]:
    """Return a function that calls ``return_freed_memory``, at most every ``RETURNING_SECONDS``:
    otherwise fragmented memory grows for hours."""
    due = time.monotonic() + RETURNING_SECONDS

    def call() -> None:
        nonlocal due
        if time.monotonic() >= due:
            return_freed_memory()
            due = time.monotonic() + RETURNING_SECONDS

    return call
