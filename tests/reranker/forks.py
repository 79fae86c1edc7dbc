"""Work that is done in a forked child of the test."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 120
"""A child that hangs does so for ever."""


def in_child(work: Callable[[], T]) -> T:
    """Return the result of ``work`` in a forked child; EOFError if it raises."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sending.send(work()))
    child.start()
    sending.close()
    try:
        assert receiving.poll(SECONDS), "the child hangs"
        result: T = receiving.recv()
        return result
    finally:
        child.kill()
        child.join()
