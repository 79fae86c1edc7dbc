"""Runs of ``rerank`` that are killed while they work, and what they leave behind."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# Seconds of computing that a kill may cost; with one thread it costs 0.3 on average.
LOST_SECONDS = 2.0

_FORK_FOR_EACH_LINE = """
import json, os, sys
import reranker.pipeline
from reranker.commands.endings import leave
from reranker.commands.main import main
print("ready", flush=True)
for line in sys.stdin:
    arguments, messages = json.loads(line)
    process = os.fork()
    if process == 0:
        os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        leave(main(arguments))
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Killed(NamedTuple):
    """The end of a run, and the files it left."""

    status: int
    kept: int
    """Sentences in the ``.part`` file."""
    lost: float
    """Seconds of computing since the last of them."""
    last_line: str
    """The last line printed to standard error."""


class Starter:
    """A starter of runs. Each is a fresh process that takes seconds to import torch or, if
    ``forked``, the fork of a process that has imported everything."""

    def __init__(self, forked: subprocess.Popen[str] | None) -> None:
        self._forked = forked
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, arguments: Sequence[str], messages: Path) -> int:
        """Start a process that runs ``rerank`` and prints its messages to a file."""
        if self._forked is not None:
            assert self._forked.stdin is not None
            self._forked.stdin.write(json.dumps([arguments, str(messages)]) + "\n")
            self._forked.stdin.flush()
            return self._number()
        command = [sys.executable, "-m", "reranker.commands.main", *arguments]
        with messages.open("wb") as file:
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
        return self._process.pid

    def wait(self) -> int:
        """Return the exit status of the last process started; negative for a signal."""
        if self._process is not None:
            return self._process.wait()
        return self._number()

    def _number(self) -> int:
        assert self._forked is not None and self._forked.stdout is not None
        return int(self._forked.stdout.readline())


@contextlib.contextmanager
def forked_runs() -> Iterator[Starter]:
    """Yield a starter of runs that need not import anything."""
    with subprocess.Popen(
        [sys.executable, "-c", _FORK_FOR_EACH_LINE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Starter(process)
        process.stdin.close()


def killed_run(
    starter: Starter,
    arguments: Sequence[str],
    out: Path,
    number: signal.Signals,
    seconds: float,
    after_sentence: bool = False,
) -> Killed:
    """Run ``rerank`` with ``--out`` and ``--resume`` and send it a signal ``seconds`` of computing
    after it started, or after it wrote its first sentences."""
    journal, messages = out.with_name(out.name + ".journal"), out.with_name("messages")
    messages.unlink(missing_ok=True)
    process = starter.start([*arguments, "--out", str(out), "--resume"], messages)
    kept = kept_sentences(out)
    grown, computed_then, computed = (_size(journal), 0), 0.0, 0.0
    until = math.inf if after_sentence else seconds
    while computed < until:
        try:
            computed = _computed(process)
        except (FileNotFoundError, ProcessLookupError):
            break  # it ended
        # The last message is that it resumes.
        if (_size(journal), _size(messages)) != grown:
            grown, computed_then = (_size(journal), _size(messages)), computed
            if after_sentence and kept_sentences(out) > kept:
                until = min(until, computed + seconds)
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)
    status = starter.wait()
    lines = messages.read_text().splitlines()
    last_line = lines[-1] if lines else ""
    return Killed(status, kept_sentences(out), computed - computed_then, last_line)


def kept_sentences(out: Path) -> int:
    """Count the whole lines in ``.part``; a kill may have cut the last one short."""
    part = out.with_name(out.name + ".part")
    return part.read_bytes().count(b"\n") if part.exists() else 0


def said_to_be_kept(line: str) -> int:
    """Return the number of sentences that an interrupted run says it keeps, in its last line."""
    match = re.fullmatch(
        r"rerank: interrupted(?:; (\d+) sentences? (?:is|are) kept; "
        r"to continue: rerank .*--resume)?",
        line,
    )
    assert match is not None, line
    return int(match[1] or 0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _computed(process: int) -> float:
    """Return the CPU seconds that the process has used. Raises ProcessLookupError if it has
    ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    if fields[0] == "Z":
        raise ProcessLookupError
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
