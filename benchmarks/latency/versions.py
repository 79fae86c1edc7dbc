"""A version that is measured: this checkout or another, and what can be started of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks.latency import driver
from reranker.errors import RerankError
from reranker.process.cores import available_cores
from tests.service.servers import serving

DRIVER = Path(driver.__file__)
# For the service, whose default of a minute is too short for 500 candidates of the old version.
PATIENCE = {"X-Request-Timeout": "600", "Content-Type": "text/plain"}


SAY_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}


class Spent(NamedTuple):
    """The time of a process and its children, in seconds."""

    wall: float
    cpu: float


class Version(NamedTuple):
    python: Path
    models: list[str]
    commit: str

    @classmethod
    def of(cls, folder: Path, pattern: str, python: Path | None = None) -> Version:
        """A checkout with its own environment; raises RerankError if it is not one."""
        python = python or folder.resolve() / ".venv" / "bin" / "python"
        if not python.with_name("rerank").is_file():
            raise RerankError(
                f"{folder}: no .venv/bin/rerank there; git worktree add {folder} 7399f1c && "
                f"make -C {folder} install"
            )
        models = sorted(str(path.resolve()) for path in folder.glob(pattern))
        if not models:
            raise RerankError(f"{folder}: no {pattern} there")
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
        described = subprocess.run(command, capture_output=True, text=True)
        return cls(python, models, described.stdout.strip() or "unknown commit")

    def rerank(self, nbest: Path | str, *flags: str) -> list[str]:
        """The command, with all models."""
        command = [str(self.python.with_name("rerank")), "--nbest", str(nbest)]
        return [*command, "--models", *self.models, *flags]

    @contextlib.contextmanager
    def driver(self, models: Sequence[str]) -> Iterator[Driver]:
        command = [str(self.python), "-P", str(DRIVER), *models]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            yield Driver(process)

    @contextlib.contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """One connection to a service of its own, ready."""
        rerank, threads = str(self.python.with_name("rerank")), str(available_cores())
        with (
            serving(self.models, rerank=rerank, OMP_NUM_THREADS=threads) as server,
            server.client(headers=PATIENCE) as client,
        ):
            client.timeout = httpx.Timeout(None)
            yield client


class Driver:
    """benchmarks/latency/driver.py in its process, which ends with its input."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, action: str, path: Path) -> list[float]:
        assert self._process.stdin and self._process.stdout
        print(action, path, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RerankError("the driver has ended")
        answer: list[float] = json.loads(line)
        return answer


def usage(command: Sequence[str]) -> Spent:
    """Runs it to its end; raises RerankError if it fails."""
    before = os.times()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = os.times()
    _check(command, done.returncode, done.stderr)
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    return Spent(after.elapsed - before.elapsed, user + system)


def imported(command: Sequence[str]) -> set[str]:
    """The modules that import statements import, in all its processes; raises RerankError if it
    fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **SAY_IMPORTS},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    _check(command, done.returncode, done.stderr)
    return imports(done.stderr.splitlines())


def imports(messages: Iterable[str]) -> set[str]:
    """The modules that processes say they import, where ``SAY_IMPORTS`` is in their environment."""
    lines = (line for line in messages if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def _check(command: Sequence[str], code: int, messages: str = "") -> None:
    if code not in (0, 1):  # 1: candidates were rejected
        raise RerankError(f"{' '.join(command)}: exit {code}\n{messages}")


def peak_megabytes(command: Sequence[str]) -> float:
    """The most memory that the process held, asked every 10 ms: its ``ru_maxrss`` would be at
    least ours. Raises RerankError if it fails."""
    kilobytes = 0
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=null, stderr=null) as process:
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text("ascii")
            if "VmHWM:" in status:  # not of one that has just ended
                kilobytes = max(kilobytes, int(status.partition("VmHWM:")[2].split()[0]))
            time.sleep(0.01)
    _check(command, process.returncode)
    return kilobytes / 1024


def outputs(command: Sequence[str], window: float) -> tuple[float, float]:
    """Seconds until the first output to a pipe, and of the longest wait for more in the window
    after it; a wait that lasts until its end counts. Then the command is killed."""
    started = time.perf_counter()
    times: list[float] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        while not times or times[-1] < times[0] + window:
            left = max(0.0, started + times[0] + window - time.perf_counter()) if times else None
            ready, _, _ = select.select([process.stdout], [], [], left)
            if ready and not os.read(process.stdout.fileno(), 1 << 20):
                break
            times.append(time.perf_counter() - started)
        process.kill()
    if not times:
        raise RerankError(f"no output: {' '.join(command)}")
    return times[0], max((late - early for early, late in pairwise(times)), default=0.0)
