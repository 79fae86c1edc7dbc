"""Commands run as a newcomer runs them: by bash, in a directory that looks like the repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.checkout import COMMANDS, ROOT


def newcomers_directory(directory: Path) -> Path:
    """Return a directory with the files that commands read; commands may write beside them."""
    for name in ("eval", "examples", "models"):
        (directory / name).symlink_to(ROOT / name)
    (directory / "ckpt").mkdir()
    for checkpoint in (ROOT / "ckpt").glob("*.pt"):
        (directory / "ckpt" / checkpoint.name).symlink_to(checkpoint)
    return directory


def environment() -> dict[str, str]:
    """Return an environment in which `rerank` is this checkout's and `python` this Python, although
    it need not be active."""
    path = f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "80"}


def shell(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the command under ``pipefail``, on a terminal of 80 columns."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=directory,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
    )
