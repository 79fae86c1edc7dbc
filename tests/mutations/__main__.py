"""Mutation tests: each change in ``table.toml`` is made in a copy of the checkout, and the tests
named beside it must then fail.

    python -m tests.mutations          # all of them; under a minute each
    python -m tests.mutations ranking  # those whose file has this in its name
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("table.toml")
# Folders that no test reads, or that are too large to copy.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "runs")

_PASSED, _FAILED = 0, 1  # pytest's exit codes


class Mutation(NamedTuple):
    """A change of one place in a file, and the tests that should fail."""

    file: str
    old: str
    new: str
    tests: str

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()} -> {self.new.strip() or 'nothing'}"


def mutations(part: str = "") -> list[Mutation]:
    rows = tomllib.loads(TABLE.read_text("utf-8"))["mutation"]
    return [Mutation(**row) for row in rows if part in row["file"]]


def copied(folder: Path) -> Path:
    """Return a copy of the checkout, in which files may be changed."""
    return Path(shutil.copytree(ROOT, folder / "copy", symlinks=True, ignore=_LEFT_OUT))


def problem(mutation: Mutation, copy: Path) -> str | None:
    """Return why the mutation says nothing good about the tests; None if they notice it."""
    file = copy / mutation.file
    text = file.read_text("utf-8")
    if text.count(mutation.old) != 1:
        return f"its old text is {text.count(mutation.old)} times in the file: correct table.toml"
    if (status := _unchanged(mutation.tests, copy)) != _PASSED:
        return f"{mutation.tests} ends with status {status} without it"
    try:
        file.write_text(text.replace(mutation.old, mutation.new), "utf-8")
        status = _tested(mutation.tests, copy)
    finally:
        file.write_text(text, "utf-8")
    if status == _PASSED:
        return f"no test of {mutation.tests} notices it"
    return None if status == _FAILED else f"{mutation.tests} does not run: status {status}"


def _tested(tests: str, copy: Path) -> int:
    options = [
        "-q",
        "-x",
        "--timeout",
        "600",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not gpu",
    ]
    command = [sys.executable, "-m", "pytest", *options, *tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL)
    return done.returncode


_unchanged = cache(_tested)


def main(arguments: Sequence[str]) -> int:
    """Print what becomes of each; 1 if a test notices nothing."""
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        for mutation in mutations(*arguments):
            found = problem(mutation, copy)
            print(f"{mutation}: {found or 'noticed'}", flush=True)
            status = status or int(found is not None)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
