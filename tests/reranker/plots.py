"""Training without pictures, which take longer than the runs of tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def no_plots() -> Iterator[None]:
    """Hide matplotlib, as if the ``train`` extra were not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
        patch.setitem(sys.modules, "matplotlib.figure", None)
        yield


@pytest.fixture(scope="module", autouse=True)
def without_plots() -> Iterator[None]:
    """Train without pictures in a module, or in all of a folder whose conftest.py imports this."""
    with no_plots():
        yield
