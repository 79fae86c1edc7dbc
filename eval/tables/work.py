"""The work folder: every step's output is kept, so that a run goes on where another was stopped.

A step is one ``rerank`` command that makes one file; when the file is there, the step is done.
Beside its log stands a record of the command and of the seconds that it took, over all attempts.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reranker.errors import InputError
from reranker.files.output import open_whole

_SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True)
class Step:
    """``rerank`` with ``arguments`` makes ``output``; ``scratch`` is of no use after that."""

    name: str
    arguments: Sequence[str]
    output: Path
    scratch: Path | None = None

    @property
    def command(self) -> str:
        return shlex.join(["rerank", *self.arguments])

    def is_done(self) -> bool:
        """Whether the output is there; deletes the scratch then."""
        done = self.output.exists()
        if done and self.scratch:
            self.scratch.unlink(missing_ok=True)
        return done


class Work:
    """A work folder, locked; use it in a ``with``, whose end ends the commands under way."""

    def __init__(self, folder: Path, settings: dict[str, Any], workers: int, threads: int) -> None:
        """Raises InputError if another run is at work here, or was begun with other settings."""
        self.folder, self.workers, self.threads = folder, workers, threads
        self.failures: dict[str, str] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._stopping = False
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise InputError(f"{folder}: another run, or a command it left, is at work") from error
        try:
            self._check(json.loads(json.dumps(settings)))
        except InputError:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._guard:
            self._stopping = True
            for process in self._running:
                process.terminate()
            running = list(self._running)
        for process in running:
            process.wait()
        os.close(self._lock)

    def write(self, path: Path, text: str) -> None:
        """Write a file of settings. Raises InputError if it is there and says something else."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_text(encoding="utf-8") != text:
            raise InputError(f"{path} has changed since the run began; choose another --work")
        with open_whole(path) as file:
            file.write(text)

    def run(self, steps: Iterable[Step]) -> None:
        """Do those that are not done, some at a time. One that fails is a name in ``failures`` with
        its last words, and the others go on."""
        waiting = [step for step in steps if not step.is_done()]
        pool = ThreadPoolExecutor(self.workers)
        try:
            futures = [pool.submit(self._do, step) for step in waiting]
            for number, (step, future) in enumerate(zip(waiting, futures, strict=True), 1):
                seconds, failure = future.result()
                if failure:
                    self.failures[step.name] = failure
                end = f"failed: {failure}" if failure else f"{seconds:.0f} s"
                print(f"{number}/{len(waiting)} {step.name}: {end}", file=sys.stderr)
        finally:
            # Waiting for the threads is left to the end of the ``with``, which ends their commands.
            pool.shutdown(wait=False, cancel_futures=True)

    def seconds(self, name: str) -> float:
        """Wall-clock that the step took, over all attempts, the start of the program included."""
        return float(self._record(name).get("seconds", 0.0))

    def command(self, name: str) -> str:
        return str(self._record(name).get("command", ""))

    def _do(self, step: Step) -> tuple[float, str]:
        """Run the step; returns its seconds and, if it failed, why."""
        step.output.parent.mkdir(parents=True, exist_ok=True)
        log = self._log(step.name)
        log.parent.mkdir(exist_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        began = time.monotonic()
        with log.open("ab") as output:
            with self._guard:
                if self._stopping:
                    return 0.0, "interrupted"
                # The lock is handed down: a command that outlives this program still holds it.
                process = subprocess.Popen(
                    [_rerank(), *step.arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=environment,
                    pass_fds=(self._lock,),
                )
                self._running.add(process)
            code = process.wait()
            with self._guard:
                self._running.discard(process)
        seconds = self.seconds(step.name) + time.monotonic() - began
        record = {"command": step.command, "seconds": round(seconds, 2), "exit": code}
        log.with_suffix(".json").write_text(json.dumps(record), encoding="utf-8")
        # 1 says that some candidates were rejected, which the log tells.
        is_done = code in (0, 1) and step.is_done()
        return seconds, "" if is_done else f"exit {code}: {_last_line(log)}"

    def _record(self, name: str) -> dict[str, Any]:
        path = self._log(name).with_suffix(".json")
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _check(self, settings: dict[str, Any]) -> None:
        path = self.folder / _SETTINGS
        if not path.exists():
            path.write_text(json.dumps(settings, indent=1), encoding="utf-8")
        before = json.loads(path.read_text("utf-8"))
        for name in {**before, **settings}:
            if before.get(name) != settings.get(name):
                raise InputError(
                    f"{self.folder} was begun with {name} {_shown(before.get(name))}, now it is "
                    f"{_shown(settings.get(name))}; choose another --work, or delete it"
                )


def _rerank() -> str:
    """The command beside this Python."""
    return str(Path(sys.executable).with_name("rerank"))


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")


def _shown(value: Any) -> str:
    return json.dumps(value)[:100]
