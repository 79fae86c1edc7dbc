"""The README's examples, run as they stand and in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def newcomers_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that looks like the repository, for the examples to write into."""
    directory = tmp_path_factory.mktemp("readme")
    for name in ("eval", "examples"):
        (directory / name).symlink_to(ROOT / name)
    (directory / "ckpt").mkdir()
    for checkpoint in (ROOT / "ckpt").glob("*.pt"):
        (directory / "ckpt" / checkpoint.name).symlink_to(checkpoint)
    return directory


def run(language: str, code: str, directory: Path) -> str:
    """Standard output of a block; fails with its standard error."""
    programs = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    # `rerank` is installed beside this Python, in an environment that need not be active.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*programs[language], code],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout


def test_examples_run_in_order(newcomers_directory: Path) -> None:
    marks = {"sh": "examples/", "python": "ckpt/"}
    runnable = [
        (language, code)
        for language, code in BLOCKS
        # tests/service/test_docs.py has the server for the curl line.
        if marks[language] in code and not code.startswith("curl")
    ]
    assert {language for language, _ in runnable} == {"sh", "python"}
    for language, code in runnable:
        run(language, code, newcomers_directory)
    best = (newcomers_directory / "best.txt").read_text(encoding="utf-8").splitlines()
    gold = (ROOT / "examples" / "gold.mrg").read_text(encoding="utf-8").splitlines()
    assert len(best) == len(gold)
    assert all(line.startswith("(") for line in best)
