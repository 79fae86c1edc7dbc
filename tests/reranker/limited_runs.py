"""``rerank`` in a process that may use little of something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

_LIMITED = """
import resource, sys
number, most = getattr(resource, sys.argv.pop(1)), int(sys.argv.pop(1))
resource.setrlimit(number, (most, most))
from reranker.commands.main import program
program()
"""


def limited_run(limit: str, most: int, arguments: Sequence[str]) -> tuple[int, str]:
    """The exit status and what is printed to standard error. ``limit`` is ``RLIMIT_FSIZE``: bytes
    of any file, as on a disk that is full then; or ``RLIMIT_AS``: bytes of memory."""
    command = [sys.executable, "-c", _LIMITED, limit, str(most), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return run.returncode, run.stderr
