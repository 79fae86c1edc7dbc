"""The checkout that these tests are in. Once this is imported, every process that is started runs
its code, not that of another checkout, which may be the one installed beside Python."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RERANK = str(ROOT / "tests" / "bin" / "rerank")
"""The command `rerank` of this checkout."""

PLAIN_PYTHON = (sys.executable, "-I", "-S")
"""The beginning of a command that runs a program without packages, which starts five times as
fast."""

TOY_PARSER = shlex.join(
    [*PLAIN_PYTHON, str(ROOT / "tests" / "reranker" / "parsers" / "toy_parser.py")]
)
"""The command of a parser of flat trees."""

COMMANDS = f"{Path(RERANK).parent}{os.pathsep}{Path(sys.executable).parent}"
"""The beginning of PATH that finds `rerank`, `python` and other programs beside this Python."""


def before_python_path(folder: str) -> str:
    """Return a PYTHONPATH on which the folder comes before what is there."""
    return os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))


os.environ["TESTED_PYTHON"] = sys.executable
if str(ROOT) not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = before_python_path(str(ROOT))
