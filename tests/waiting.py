"""Waiting for something, however long it takes on the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds after which something will never happen: a bound against hanging, not an expectation.
PATIENCE = 240


def until(condition: Callable[[], T]) -> T:
    """The condition's value once it is true."""
    give_up = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < give_up, "it has not happened"
        time.sleep(0.01)
    return value
