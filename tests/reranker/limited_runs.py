"""``rerank`` in a process that may use little of something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

_SMALL_FILES = """
import resource, sys
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
from reranker.commands.main import program
program()
"""

_LITTLE_MEMORY = """
import resource, sys
more = int(sys.argv.pop(1))
import reranker.pipeline
from reranker import registry
from reranker.commands.main import program
if sys.argv[1] == "train":
    registry.load("commands", "train")
    import reranker.plugins.training.worker
with open("/proc/self/statm") as file:
    most = int(file.read().split()[0]) * resource.getpagesize() + more
resource.setrlimit(resource.RLIMIT_AS, (most, most))
program()
"""


def with_small_files(most: int, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the exit status and standard error of a run that cannot write a file of more than
    ``most`` bytes, as on a full disk."""
    return _run(_SMALL_FILES, most, arguments)


def with_little_memory(more: int, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the same for a run that can get ``more`` bytes of memory once everything is
    imported."""
    return _run(_LITTLE_MEMORY, more, arguments)


def _run(program: str, size: int, arguments: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-c", program, str(size), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return run.returncode, run.stderr
