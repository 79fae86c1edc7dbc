"""The scripts of eval/, which is a folder of scripts and no package."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.checkout import ROOT

EVAL = ROOT / "eval"


def module(script: str) -> Any:
    """Return a script as a module; it imports those beside it by their names."""
    file = EVAL / script
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    return importlib.import_module(file.stem)


def run(
    script: str, *arguments: object, folder: Path | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a script, which must end with this exit status; return what it has printed."""
    command = [sys.executable, str(EVAL / script), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done
