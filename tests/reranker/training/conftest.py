"""What the tests of training share."""

import sys

import pytest


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the ``train`` extra is not installed: plots take longer than these runs."""
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
