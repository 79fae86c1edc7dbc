"""A study as ``rerank`` commands, and a work folder that keeps their output, so that an interrupted
run resumes.

A step is one command that makes one file; when the file is there, the step is done. Beside its log
is a record of the command and of the seconds it took, over all attempts.
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
from typing import Any, NamedTuple

from prepare import StudyFiles
from study import Study, Table

from reranker.errors import InputError
from reranker.files.output import open_whole

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Command:
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

    def is_done(self) -> bool:
        """Whether the output is there; deletes the scratch then."""
        done = self.output.exists()
        if done and self.scratch:
            self.scratch.unlink(missing_ok=True)
        return done


def plan(
    study: Study, files: StudyFiles, length: Sequence[str], options: Sequence[str]
) -> list[Command]:
    """All steps: training, first seeds first, then scoring. ``length`` are the flags of training
    that say how long, ``options`` flags of every command."""
    trained = [
        (seed, name) for name in study.trained for seed in range(1, study.models[name].seeds + 1)
    ]
    trained.sort(key=lambda run: run[0])
    steps = [_training(study, name, seed, files, [*length, *options]) for seed, name in trained]
    for run in study.all_runs():
        if not study.data.text:
            steps += _scoring(study, run, files, options)
        steps += _analyses(study, run, files, options)
    return steps


def analysis(study: Study, table: Table, name: str) -> str:
    """The kind of ``rerank analyse`` that has the table's figures for a set; empty for those that
    come from scored trees and lists."""
    if table.kind in ("variation", "rank"):
        return table.kind
    if not study.data.text:
        return ""
    return "last-word" if study.sets[name].passages else "perplexity"


def _training(
    study: Study, name: str, seed: int, files: StudyFiles, flags: Sequence[str]
) -> Command:
    run, start = f"{name}-{seed}", study.models[name].start_from
    out, logs = files.checkpoint(run), files.folder / "training" / run
    arguments = ["train", "--config", files.config(name)]
    if study.data.text:
        arguments += ["--train", *files.sources(study.data.train)]
        arguments += ["--dev", *files.sources(study.data.dev)]
    else:
        arguments += ["--train", files.data("train.mrg"), "--dev", files.data("dev.mrg")]
    arguments += ["--out", out, "--log-folder", logs, "--seed", seed]
    needs = [files.checkpoint(f"{start}-{seed}")] if start else []
    if needs:
        arguments += ["--start-from", *needs]
    # The state that training resumes from is several times as large as the checkpoint.
    return Command(run, [*map(str, arguments), *flags], out, needs, scratch=logs / "state.pt")


def _scoring(
    study: Study, run: str, files: StudyFiles, options: Sequence[str]
) -> Iterator[Command]:
    """The trees of every set, for perplexity, and its lists, if a table asks for their F1."""
    tables = [table for table in study.tables.values() if table.kind == "F1"]
    shown = [table for table in tables if any(run in study.members(row) for row in table.rows)]
    listed = {name for table in shown for name in table.sets}
    listed |= {study.sets[name].weight_from for name in listed}
    checkpoint = files.checkpoint(run)
    for name in study.sets:
        kinds = [(f"{run}:{name}:text", f"{name}.text", ["--token-scores"])]
        if name in listed:
            kinds.append((f"{run}:{name}", f"{name}.lists", []))
        for label, kind, more in kinds:
            out = files.scored(run, kind)
            arguments = ["--nbest", files.data(f"{kind}.jsonl"), "--models", checkpoint]
            arguments += ["--output", "ranked", "--out", out, "--resume", *more]
            yield Command(label, [*map(str, arguments), *options], out, [checkpoint])


def _analyses(
    study: Study, run: str, files: StudyFiles, options: Sequence[str]
) -> Iterator[Command]:
    """What ``rerank analyse`` has to say of a run for the tables that show it."""
    tables = study.tables.values()
    shown = [table for table in tables if any(run in study.members(row) for row in table.rows)]
    wanted = dict.fromkeys(
        (name, analysis(study, table, name)) for table in shown for name in table.sets
    )
    checkpoint = files.checkpoint(run)
    for name, kind in wanted:
        if not kind:
            continue
        out, sources = files.scored(run, f"{name}.{kind}"), files.sources(study.sets[name].trees)
        given = {"last-word": "--passages"}.get(kind, "--text" if study.data.text else "--trees")
        arguments = ["analyse", kind, "--models", checkpoint, given, *sources]
        if kind == "perplexity":
            arguments += ["--token-scores", out]
        else:
            arguments += ["--json", "--out", out]
        if kind == "rank":
            arguments += ["--tokens", "all"]
        label = f"{run}:{name}:{kind}"
        yield Command(label, [*map(str, arguments), *options], out, [checkpoint])


class _Running(NamedTuple):
    step: Command
    process: subprocess.Popen[bytes]
    began: float


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

    def run(self, plan: Sequence[Command]) -> None:
        """Do the steps that are not done, in order, each once its needs are there; what fails is
        added to ``failures``, and the others continue. Interrupted, ends its commands."""
        waiting = [step for step in plan if not step.is_done()]
        total, ended = len(waiting), 0
        running: list[_Running] = []
        try:
            while True:
                ready = [step for step in waiting if all(need.exists() for need in step.needs)]
                for step in ready[: self.workers - len(running)]:
                    waiting.remove(step)
                    running.append(self._start(step))
                if not running:
                    break
                time.sleep(POLL_SECONDS)
                for command in [each for each in running if each.process.poll() is not None]:
                    running.remove(command)
                    ended += 1
                    print(
                        f"{ended}/{total} {command.step.name}: {self._end(command)}",
                        file=sys.stderr,
                    )
        finally:
            for command in running:
                command.process.terminate()
            for command in running:
                self._end(command)
        for step in waiting:
            self.failures.setdefault(step.run, f"{step.name}: what it starts from failed")

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _start(self, step: Command) -> _Running:
        log = self._log(step.name)
        for path in (step.output, log):
            path.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            # The lock is handed down: a command that outlives this program still holds it.
            process = subprocess.Popen(
                [Path(sys.executable).with_name("rerank"), *step.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "OMP_NUM_THREADS": str(self.threads)},
                pass_fds=(self.lock,),
            )
        return _Running(step, process, time.monotonic())

    def _end(self, command: _Running) -> str:
        """Wait, add to its record and to the failures; returns how it ended."""
        step, code, log = command.step, command.process.wait(), self._log(command.step.name)
        seconds = time.monotonic() - command.began + self.record(step.name)["seconds"]
        words = shlex.join(["rerank", *step.arguments])
        record = {"command": words, "seconds": round(seconds, 2), "exit": code}
        log.with_suffix(".json").write_text(json.dumps(record), "utf-8")
        # 1 means that some candidates were rejected; the log says which.
        if code in (0, 1) and step.is_done():
            return f"{seconds:.0f} s"
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
        reason = f"exit {code}: {lines[-1] if lines else ''}"
        self.failures.setdefault(step.run, f"{step.name}: {reason}")
        return f"failed: {reason}"


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
        path = folder / "settings.json"
        if not path.exists():
            path.write_text(json.dumps(settings, indent=1), "utf-8")
        before, now = json.loads(path.read_text("utf-8")), json.loads(json.dumps(settings))
        for name in {**before, **now}:
            if before.get(name) != now.get(name):
                old, new = (json.dumps(each.get(name))[:100] for each in (before, now))
                raise InputError(
                    f"{folder} was begun with {name} {old}, now it is {new}; choose another "
                    "--work, or delete it"
                )
        yield Work(folder, lock.fileno(), workers, threads)
