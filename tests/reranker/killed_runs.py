"""Runs of ``rerank`` that are killed while they work, and what they leave behind."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.checkout import RERANK

# Seconds of computing that a kill may cost; with one thread it costs 0.3 on average.
LOST_SECONDS = 2.0


class Killed(NamedTuple):
    """The end of a run, and the files it left."""

    status: int
    kept: int
    """Sentences in the ``.part`` file."""
    lost: float
    """Seconds of computing since the last of them."""
    last_line: str
    """The last line printed to standard error."""


def killed_run(
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
    with messages.open("wb") as file:
        run = subprocess.Popen(
            [RERANK, *arguments, "--out", str(out), "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=file,
        )
    kept = kept_sentences(out)
    grown, computed_then, computed = (_size(journal), 0), 0.0, 0.0
    until = math.inf if after_sentence else seconds
    while computed < until:
        try:
            computed = _computed(run.pid)
        except (FileNotFoundError, ProcessLookupError):
            break  # it ended
        # The last message is that it resumes.
        if (_size(journal), _size(messages)) != grown:
            grown, computed_then = (_size(journal), _size(messages)), computed
            if after_sentence and kept_sentences(out) > kept:
                until = min(until, computed + seconds)
        time.sleep(0.005)
    run.send_signal(number)
    status = run.wait()
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
