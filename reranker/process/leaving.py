"""Cleanup of everything that must not outlive the process, even if the process ends by
``os._exit``, which skips Python's exit handlers."""

from __future__ import annotations

import atexit
from collections.abc import Callable

_handlers: list[Callable[[], None]] = []


def at_exit(handler: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called when the process ends; return the function."""
    _handlers.append(handler)
    return atexit.register(handler)


def run() -> None:
    """Call all functions: for a process that ends without exit handlers."""
    for handler in _handlers:
        handler()
