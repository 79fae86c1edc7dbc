"""``rerank`` in a process that may use little of something."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module

from reranker import registry
from reranker.commands.main import program


def with_small_files(most: int, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the exit status and standard error of a run that cannot write a file of more than
    ``most`` bytes, as on a full disk."""
    return _run("files", most, arguments)


def with_little_memory(more: int, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the same for a run that can get ``more`` bytes of memory once everything is
    imported."""
    return _run("memory", more, arguments)


def _run(what: str, size: int, arguments: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.reranker.limited_runs", what, str(size), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return run.returncode, run.stderr


def _limit(what: str, size: int, command: str) -> None:
    limit = resource.RLIMIT_FSIZE
    if what == "memory":
        for name in ("pipeline", "commands.rerank", "work.ranking", "scoring.winner"):
            import_module(f"reranker.{name}")
        if command == "train":
            registry.load("commands", "train")
            import_module("reranker.plugins.training.worker")
        with open("/proc/self/statm") as file:
            size += int(file.read().split()[0]) * resource.getpagesize()
        limit = resource.RLIMIT_AS
    resource.setrlimit(limit, (size, size))


if __name__ == "__main__":
    what, size = sys.argv.pop(1), int(sys.argv.pop(1))
    _limit(what, size, sys.argv[1])
    program()
