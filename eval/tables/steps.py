"""A study as ``rerank`` commands, each of which makes one file: when the file is there, the step is
done. Data are written in the forms that `rerank` reads: one tree per line, and lists in our own
JSON; text is read where it is."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from study import EvaluationSet, Study, matching

from reranker.errors import InputError, TreeError
from reranker.files.output import always, make_folder, never, open_whole
from reranker.nbest import ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import read_treebank


@dataclass(frozen=True, slots=True)
class StudyStep:
    """``rerank`` with ``arguments`` makes ``output``; the name begins with its run's."""

    name: str
    arguments: Sequence[str]
    output: Path


@dataclass
class StudyWork:
    """A study in a work folder, its data in ``root``; ``failures`` has the reason by run."""

    study: Study
    folder: Path
    root: Path
    flags: Sequence[str] = ()  # of every command
    training_flags: Sequence[str] = ()
    threads: int = 1
    failures: dict[str, str] = field(default_factory=dict)
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _is_ended: bool = False

    def checkpoint(self, run: str) -> Path:
        return self.folder / "models" / f"{run}.pt"

    def config(self, model: str) -> Path:
        return self.folder / "configs" / f"{model}.toml"

    def data(self, name: str) -> Path:
        """Return the path of ``train.mrg``, ``dev.mrg``; of each set ``SET.text.mrg``, its trees,
        ``SET.lists.jsonl`` and ``SET.gold.mrg``, the lists' gold trees."""
        return self.folder / "data" / name

    def scored(self, run: str, name: str) -> Path:
        """Return the path of the scores of ``SET.text`` or ``SET.lists``, or of the output of
        ``rerank analyse`` for a set."""
        return self.folder / "scored" / f"{run}.{name}.jsonl"

    def record(self, name: str) -> dict[str, Any]:
        """Return the ``command`` of a step, and its ``seconds`` over all attempts, start
        included."""
        path = self._log(name).with_suffix(".json")
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return {"command": "", "seconds": 0.0, **known}

    def prepare(self, sentences: int) -> None:
        """Write configurations and data that are not there; of the lists, ``sentences`` of each
        set, evenly spread (0: all). Raises InputError for files that cannot be used."""
        for name in self.study.models:
            path, text = self.config(name), to_toml(self.study.settings(name))
            _write(path, [text])
            if path.read_text("utf-8") != text:
                raise InputError(f"{path} has changed since the run began; choose another --work")
        if self.study.data.text:
            return
        read = {"train": self.study.data.train, "dev": self.study.data.dev}
        read |= {f"{name}.text": judged.trees for name, judged in self.study.sets.items()}
        for name, patterns in read.items():
            _write(self.data(f"{name}.mrg"), (f"{tree}\n" for tree in self._trees(patterns)))
        for name, judged in self.study.sets.items():
            if judged.nbest:
                self._write_lists(name, judged, sentences)

    def run(self, workers: int) -> None:
        """Do what is not done, first seeds first, ``workers`` runs at a time; what fails is added
        to ``failures``, and the others continue. Interrupted, ends its commands."""
        runs = [
            (seed, len(self.study.lineage(name)), name)
            for name, model in self.study.models.items()
            for seed in range(model.seeds)
        ]
        done: dict[str, Future[None]] = {}
        with ThreadPoolExecutor(workers) as pool:
            try:
                # A run comes after the one it starts from, so that no thread waits in vain.
                for seed, _, name in sorted(runs, key=lambda run: run[:2]):
                    start = self.study.models[name].start_from
                    before = done[f"{start}-{seed + 1}"] if start else None
                    done[f"{name}-{seed + 1}"] = pool.submit(self._do, name, seed + 1, before)
                for each in done.values():
                    each.result()
            finally:
                self._is_ended = True
                for process in self._running.copy():
                    process.terminate()

    def steps(self, model: str, seed: int) -> Iterator[StudyStep]:
        """Yield the steps of a run: training, then scoring."""
        study, run = self.study, f"{model}-{seed}"
        start, checkpoint = study.models[model].start_from, self.checkpoint(run)
        train, dev = [self.data("train.mrg")], [self.data("dev.mrg")]
        if study.data.text:
            train, dev = (
                matching(self.root, files) for files in (study.data.train, study.data.dev)
            )
        arguments = ["train", "--config", self.config(model), "--train", *train, "--dev", *dev]
        arguments += ["--out", checkpoint, "--log-folder", self._training(run), "--seed", seed]
        if start:
            arguments += ["--start-from", self.checkpoint(f"{start}-{seed}")]
        yield self._step(run, checkpoint, *arguments, *self.training_flags)
        more: list[object]
        for name, kind in self._wanted(run):
            label = f"{run}:{name}" if kind == "lists" else f"{run}:{name}:{kind}"
            out = self.scored(run, f"{name}.{kind}")
            if kind in ("lists", "text"):
                ending = "mrg" if kind == "text" else "jsonl"
                arguments = ["--nbest", self.data(f"{name}.{kind}.{ending}"), "--models"]
                arguments += [checkpoint, "--output", "ranked", "--out", out, "--resume"]
                more = ["--format", "trees", "--token-scores"] if kind == "text" else []
            else:
                is_text = kind == "perplexity"
                files = matching(self.root, study.sets[name].trees)
                read = "--text" if is_text else "--passages"
                arguments = ["analyse", kind, "--models", checkpoint, read, *files]
                more = ["--token-scores", out] if is_text else ["--json", "--out", out]
            yield self._step(label, out, *arguments, *more)

    def _wanted(self, run: str) -> list[tuple[str, str]]:
        """Return the sets and kinds of figures of the tables that show a run."""
        wanted = {} if self.study.data.text else {(name, "text"): 0 for name in self.study.sets}
        for table in self.study.tables.values():
            if not any(run in self.study.members(row) for row in table.rows):
                continue
            for name in table.sets:
                for judged in {name: 0, self.study.sets[name].weight_from: 0}:
                    if table.kind == "F1" and judged:
                        wanted[judged, "lists"] = 0
                wanted[name, self.figures_of(name)] = 0
        return list(wanted)

    def figures_of(self, name: str) -> str:
        """Return the source of a set's perplexity: a kind of ``rerank analyse``, or ``text``, its
        trees as lists of one."""
        if not self.study.data.text:
            return "text"
        return "last-word" if self.study.sets[name].passages else "perplexity"

    def _step(self, name: str, output: Path, *arguments: object) -> StudyStep:
        return StudyStep(name, [*map(str, arguments), *self.flags], output)

    def _do(self, model: str, seed: int, before: Future[None] | None) -> None:
        """Do all steps of a run, once the run that it starts from is done."""
        run = f"{model}-{seed}"
        if before:
            before.result()
            if not self.checkpoint(f"{self.study.models[model].start_from}-{seed}").exists():
                self.failures[run] = f"{run}: what it starts from failed"
                return
        for step in self.steps(model, seed):
            if not step.output.exists() and not self._is_ended:
                ended = self.do(step)
                print(f"{step.name}: {ended}", file=sys.stderr)
            if not step.output.exists():
                return
            # The state that training resumes from is several times as large as the checkpoint.
            (self._training(run) / "state.pt").unlink(missing_ok=True)

    def do(self, step: StudyStep) -> str:
        """Run the command; return how it ended, and add a failure to the failures."""
        log, began = self._log(step.name), time.monotonic()
        for path in (step.output, log):
            make_folder(path.parent)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "reranker", *step.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "OMP_NUM_THREADS": str(self.threads)},
            )
        self._running.add(process)
        if self._is_ended:
            process.terminate()
        code = process.wait()
        self._running.remove(process)
        seconds = time.monotonic() - began + self.record(step.name)["seconds"]
        words = shlex.join(["rerank", *step.arguments])
        record = {"command": words, "seconds": round(seconds, 2), "exit": code}
        with open_whole(log.with_suffix(".json"), always) as file:
            file.write(json.dumps(record))
        # 1 means that some candidates were rejected; the log says which.
        if code in (0, 1) and step.output.exists():
            return f"{seconds:.0f} s"
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
        reason = f"exit {code}: {lines[-1] if lines else ''}"
        self.failures.setdefault(step.name.split(":")[0], f"{step.name}: {reason}")
        return f"failed: {reason}"

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _training(self, run: str) -> Path:
        return self.folder / "training" / run

    def _write_lists(self, name: str, judged: EvaluationSet, sentences: int) -> None:
        lists = self.data(f"{name}.lists.jsonl")
        if lists.exists():
            return
        gold = list(self._trees([judged.gold] if judged.gold else judged.trees))
        path = self.root / judged.nbest
        options = ReadOptions(tokens=self.root / judged.tokens if judged.tokens else None)
        kept = list(read_nbest(path, options=options))
        if len(kept) != len(gold):
            raise InputError(f"{path}: {len(kept)} lists for {len(gold)} gold trees")
        chosen = spread(len(gold), sentences)
        _write(self.data(f"{name}.gold.mrg"), (f"{gold[place]}\n" for place in chosen))
        # Last, because its presence means that both files are complete.
        _write(lists, (list_text(kept[place], place, "jsonl") for place in chosen))

    def _trees(self, patterns: Sequence[str]) -> Iterator[str]:
        """Yield the trees of the files, without line ends."""
        for tree in read_treebank(matching(self.root, patterns)):
            try:
                yield cleaned(tree).to_string()
            except TreeError as error:
                problem = f"{error}: {tree.to_string()[:80]}"
                raise InputError(f"{', '.join(patterns)}: {problem}") from error


def spread(count: int, wanted: int) -> list[int]:
    """Return ``wanted`` of the numbers below ``count``, evenly spread; all of them for 0.

    >>> spread(7, 3)
    [1, 3, 5]
    """
    if not 0 < wanted < count:
        return list(range(count))
    return [(2 * place + 1) * count // (2 * wanted) for place in range(wanted)]


def to_toml(tables: dict[str, dict[str, Any]]) -> str:
    """Write tables of plain values; JSON's notation of those is TOML's too."""
    parts = [
        [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()), ""]
        for name, table in tables.items()
    ]
    return "\n".join(line for part in parts for line in part)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file unless it exists."""
    if not path.exists():
        make_folder(path.parent)
        with open_whole(path, never) as file:
            for line in lines:
                file.write(line)
