"""Programs end with all that they have started, and with the process that runs them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reranker.parsers.program import Program
from tests.reranker.parsers.hanging import Hanging, has_ended

PARENT = """
import sys, time
from reranker.parsers.program import Program
program = Program(sys.argv[1:])
print("started", flush=True)
sys.stdin.read()
"""
SOON = 60.0  # seconds; without a guard it would be hours


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_process_that_runs_it(number: int, tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)
    command = [sys.executable, "-c", PARENT, *hanging.command]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent, hanging.opened() as pipe:
        assert not has_ended(pipe, 0.2)
        parent.send_signal(number)
        assert parent.wait() == -number
        assert has_ended(pipe, SOON)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what runs")
def test_whenever_it_is_killed_it_leaves_nothing() -> None:
    """Also before the program has started, and before it has a guard."""
    begin = PARENT.replace("program =", "print(flush=True); program =")
    for place in range(12):
        mark = os.urandom(16).hex()
        command = [sys.executable, "-c", begin, "sleep", "10000"]
        environment = {**os.environ, "MARK": mark}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"\n"
            with contextlib.suppress(subprocess.TimeoutExpired):
                parent.wait(0.0005 * place)
            parent.kill()
        until = time.monotonic() + SOON
        while left := _marked(mark):
            assert time.monotonic() < until, left
            time.sleep(0.01)


def _marked(mark: str) -> list[str]:
    """Return the processes that have a value in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
    return found


def test_it_can_be_killed_with_all_that_it_has_started_again_and_again(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)
    program = Program(hanging.command)
    with program.process as process, hanging.opened() as pipe:
        program.kill()
        assert has_ended(pipe, SOON)
        program.end()
        assert process.returncode == -signal.SIGKILL
        program.end()
        program.kill()


def test_what_it_leaves_behind_ends_with_it() -> None:
    program = Program(["sh", "-c", "sleep 10000 >&2 & echo done"])
    with program.process as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read() == b"done\n"
        process.wait()
        program.end()
        assert (process.returncode, process.stderr.read()) == (0, b"")


def test_no_such_program() -> None:
    with pytest.raises(FileNotFoundError):
        Program(["/no/such"])
