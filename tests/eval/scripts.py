"""The scripts of eval/, which is a folder of scripts and no package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests import program
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
) -> CompletedProcess[str]:
    """Run a script, which must end with this exit status; return what it has printed."""
    done = program.script(EVAL / script, *arguments, folder=folder)
    assert done.returncode == status, done.stderr
    return done
