"""Runs the steps of a plan in a work folder that keeps their output, so that an interrupted run
resumes.

A step is one ``rerank`` command that makes one file; when the file is there, the step is done.
Beside its log is a record of the command and of the seconds it took, over all attempts.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reranker.errors import InputError
from reranker.files.output import open_whole

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Step:
    """``rerank`` with ``arguments`` makes ``output`` of ``needs``, then deletes ``scratch``; its
    name is a run's, or begins with it and a colon."""

    name: str
    arguments: Sequence[str]
    output: Path
    needs: Sequence[Path] = ()
    scratch: Path | None = None

    @property
    def run(self) -> str:
        return self.name.split(":")[0]

    @property
    def command(self) -> str:
        return shlex.join(["rerank", *self.arguments])

    def is_done(self) -> bool:
        """Whether the output is there; deletes the scratch then."""
        done = self.output.exists()
        if done and self.scratch:
            self.scratch.unlink(missing_ok=True)
        return done


@contextmanager
def work_folder(
    folder: Path, settings: dict[str, Any], workers: int, threads: int
) -> Iterator[Work]:
    """The folder, locked. Raises InputError if it is in use, or was begun with other settings."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"{folder} is in use by another run, or by a command that one left behind"
            raise InputError(message) from error
        _check(folder, json.loads(json.dumps(settings)))
        yield Work(folder, lock.fileno(), workers, threads)


@dataclass
class Work:
    """A locked work folder; ``failures`` has the reason by the name of the run."""

    folder: Path
    lock: int
    workers: int
    threads: int
    failures: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path, text: str) -> None:
        """Write a file of settings. Raises InputError if it is there with other content."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_text("utf-8") != text:
            raise InputError(f"{path} has changed since the run began; choose another --work")
        with open_whole(path) as file:
            file.write(text)

    def record(self, name: str) -> dict[str, Any]:
        """``command`` and ``seconds`` of wall-clock of a step, over all attempts, the start of the
        program included."""
        path = self._log(name).with_suffix(".json")
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return {"command": "", "seconds": 0.0, **known}

    def run(self, plan: Sequence[Step]) -> None:
        """Do the steps that are not done, in order, each once its needs are there; what fails is
        added to ``failures``, and the others continue. Interrupted, ends its commands."""
        waiting = [step for step in plan if not step.is_done()]
        total, ended = len(waiting), 0
        running: list[_Running] = []
        try:
            while True:
                ready = (each for each in waiting if all(need.exists() for need in each.needs))
                while len(running) < self.workers and (step := next(ready, None)):
                    running.append(_Running(self, step))
                waiting = [step for step in waiting if step not in [each.step for each in running]]
                if not running:
                    break
                time.sleep(POLL_SECONDS)
                for command in [each for each in running if each.process.poll() is not None]:
                    running.remove(command)
                    ended += 1
                    print(f"{ended}/{total} {command.step.name}: {command.end()}", file=sys.stderr)
        finally:
            for command in running:
                command.process.terminate()
            for command in running:
                command.end()
        for step in waiting:
            self.failures.setdefault(step.run, f"{step.name}: what it starts from failed")

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"


class _Running:
    """The command of a step."""

    def __init__(self, work: Work, step: Step) -> None:
        self.work, self.step, self.began = work, step, time.monotonic()
        self.log = work._log(step.name)
        for path in (step.output, self.log):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            # The lock is handed down: a command that outlives this program still holds it.
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("rerank"), *step.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "OMP_NUM_THREADS": str(work.threads)},
                pass_fds=(work.lock,),
            )

    def end(self) -> str:
        """Wait, add to the record and to the work's failures; returns how it ended."""
        code = self.process.wait()
        step, seconds = self.step, time.monotonic() - self.began
        seconds += self.work.record(step.name)["seconds"]
        record = {"command": step.command, "seconds": round(seconds, 2), "exit": code}
        self.log.with_suffix(".json").write_text(json.dumps(record), "utf-8")
        # 1 means that some candidates were rejected; the log says which.
        if code in (0, 1) and step.is_done():
            return f"{seconds:.0f} s"
        lines = self.log.read_text("utf-8", errors="replace").split("\n")
        reason = f"exit {code}: {next((line for line in reversed(lines) if line.strip()), '')}"
        self.work.failures.setdefault(step.run, f"{step.name}: {reason}")
        return f"failed: {reason}"


def _check(folder: Path, settings: dict[str, Any]) -> None:
    path = folder / "settings.json"
    if not path.exists():
        path.write_text(json.dumps(settings, indent=1), "utf-8")
    before = json.loads(path.read_text("utf-8"))
    for name in {**before, **settings}:
        old, new = (json.dumps(each.get(name))[:100] for each in (before, settings))
        if before.get(name) != settings.get(name):
            raise InputError(
                f"{folder} was begun with {name} {old}, now it is {new}; choose another --work, "
                "or delete it"
            )
