"""Tests start the code that they stand beside, whatever else is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.checkout import ROOT

# A second checkout: the helpers of tests, and a package of which a run says where it is.
COPIED = (
    "checkout.py",
    "conftest.py",
    "shell.py",
    "waiting.py",
    "bin/rerank",
    "service/servers.py",
)
PACKAGE = """
from pathlib import Path
print(Path(__file__).resolve().parents[1])
"""
TEST = """
import subprocess
import sys
from pathlib import Path

from tests.service.servers import RERANK
from tests.shell import shell


def test_every_way_to_start_it(tmp_path: Path) -> None:
    there = str(Path(__file__).resolve().parents[1])
    module = ["-m", "reranker"]
    for command in ([RERANK], [sys.executable, *module], [sys.executable, "-P", *module]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == there, command
    program = "python - <<< 'import reranker.__main__'"
    for command in ("rerank parse", "python -P -m reranker", program):
        assert shell(command, tmp_path).stdout.strip() == there, command
"""


def test_a_second_checkout_tests_itself(tmp_path: Path) -> None:
    for name in COPIED:
        copy = tmp_path / "tests" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, copy)
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "servers.py", tmp_path / "benchmarks")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "reranker").mkdir()
    (tmp_path / "reranker" / "__init__.py").touch()
    (tmp_path / "reranker" / "__main__.py").write_text(PACKAGE)
    (tmp_path / "tests" / "test_it.py").write_text(TEST)
    own = {"PYTHONPATH", "TESTED_PYTHON"}
    environment = {name: value for name, value in os.environ.items() if name not in own}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_it.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
