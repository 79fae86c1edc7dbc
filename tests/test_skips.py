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
    ("ci", "expected"),
    [("true", "1 skipped, 3 errors"), ("", "4 skipped")],
)
def test_what_is_skipped(tmp_path: Path, ci: str, expected: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_whole_module.py").write_text(MODULE)
    options = ["-p", "tests.conftest", "-c", os.devnull, "--continue-on-collection-errors"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "CI": ci, "PYTHONPATH": root}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert re.search(rf"={{3,}} {expected} in ", done.stdout), done.stdout
