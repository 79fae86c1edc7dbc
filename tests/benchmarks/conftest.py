"""Benchmarks are started in the root of the repository."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
