"""Skipped tests fail in CI, unless no package and no data would help."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.fixture
def package():
    pytest.importorskip("no_such_package")

def test_package(package):
    pass

@pytest.mark.skipif(True, reason="the lists are not here")
def test_data():
    pass

def test_machine():
    pytest.skip("this machine has no AVX-512")
"""
MODULE = "import pytest; pytest.importorskip('no_such_package')"


@pytest.mark.parametrize(
    ("ci", "text", "expected"),
    [
        ("true", TESTS, "1 skipped, 2 errors"),
        ("", TESTS, "3 skipped"),
        ("true", MODULE, "1 error"),
        ("", MODULE, "1 skipped"),
    ],
)
def test_what_is_skipped(tmp_path: Path, ci: str, text: str, expected: str) -> None:
    (tmp_path / "test_some.py").write_text(text)
    options = ["-p", "tests.conftest", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "CI": ci, "PYTHONPATH": root}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert re.search(rf"={{3,}} {expected} in ", done.stdout), done.stdout
