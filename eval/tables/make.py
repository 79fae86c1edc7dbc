"""Train, score and tabulate what a study describes, all of it or what is not done yet:

    python eval/tables/make.py eval/tables/open.toml --budget 55
    python eval/tables/make.py eval/recipes/ptb-parsing.toml --data ~/ptb --device cuda

docs/results.md explains the tables and the study's file. Killed at any moment, the same command
goes on: training from its last saved state, scoring from its last sentence.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures import FOLDS
from prepare import prepare, source_files
from report import markdown, put
from results import Results
from steps import checkpoint_path, scoring, training, waves
from study import ROOT, Study, Table, to_toml
from work import Work

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.errors import InputError, RerankError
from reranker.files.output import open_whole

# What of the budget is for training; scoring, mostly of n-best lists, is known to take less than
# the rest with the study's own number of sentences.
TRAINING_SHARE = 0.6


def main(argv: Sequence[str] | None = None) -> int:
    """Make the tables; returns 0, 1 if a row failed, 2 if nothing could be done."""
    arguments = _arguments(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _make(arguments)
    except RerankError as error:
        print(f"tables: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tables: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def _make(arguments: argparse.Namespace) -> int:
    study = Study.read(arguments.study, arguments.only, arguments.shrink, arguments.seeds)
    files = source_files(study, arguments.data)
    runs = study.all_runs()
    checkpoints = _checkpoints(study)
    to_train = sum(study.models[name].seeds for name in study.trained)
    minutes = 0.0
    if arguments.budget and to_train:
        minutes = TRAINING_SHARE * arguments.budget * arguments.workers / to_train
    settings = {
        "minutes of training for each model": round(minutes, 4),
        "epochs": arguments.epochs,
        "shrink": study.shrink,
        "sentences": arguments.sentences,
        "device": arguments.device,
        "workers and threads": [arguments.workers, arguments.threads],
        "data": {str(path): _digest(path) for path in files},
        "text": [study.data.text, study.data.words_per_tree],
        "sets": {name: asdict(one) for name, one in study.sets.items()},
        "machine": _machine(),
    }
    folder = arguments.work or Path("runs", "-".join(["tables", study.path.stem, *arguments.only]))
    with Work(folder, settings, arguments.workers, arguments.threads) as work:
        for name in study.trained:
            work.write(folder / "configs" / f"{name}.toml", to_toml(study.settings(name)))
        for name, digest in checkpoints.items():
            work.write(folder / "configs" / f"{name}.sha256", digest + "\n")
            checkpoint_path(folder, name).parent.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / study.models[name].checkpoint, checkpoint_path(folder, name))
        length = _length(arguments, minutes)
        to_do = f", {to_train} to be trained {length}" if to_train else ""
        print(f"{len(runs)} models{to_do}", file=sys.stderr)
        prepared = prepare(study, arguments.data, folder / "data", arguments.sentences)
        options = ["--device", arguments.device, "--threads", str(arguments.threads)]
        # Under a budget nothing else ends training, or the quickest models would get less of it.
        budget = ["--budget", f"{minutes:.4f}", "--epochs", "0"] if minutes else []
        budget += ["--epochs", f"{arguments.epochs:g}"] if arguments.epochs else []
        for models in waves(study):
            work.run(
                training(study, name, number, folder, prepared, [*budget, *options])
                for name, number in models
                if study.models[name].start_from == ""
                or checkpoint_path(folder, f"{study.models[name].start_from}-{number}").exists()
            )
        for run in runs:
            if not checkpoint_path(folder, run).exists():
                work.failures.setdefault(run, "what it starts from failed")
        trained = [run for run in runs if run not in work.failures]
        work.run(step for run in trained for step in scoring(study, run, folder, prepared, options))
        results = Results(study, work, prepared)
        made = {
            name: {**results.table(table), "method": _method(arguments, study, length, table)}
            for name, table in study.tables.items()
        }
        for name, table in made.items():
            table |= {
                "commands": [_command(arguments)],
                "budget_minutes": arguments.budget,
                "minutes_each": minutes,
                "epochs": arguments.epochs,
                "settings": settings,
            }
            text = markdown(table)
            print(text)
            with open_whole(folder / f"{name}.json") as file:
                file.write(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
            with open_whole(folder / f"{name}.md") as file:
                file.write(text)
            if arguments.into:
                put(arguments.into, name, text)
        print(f"tables: as Markdown and JSON in {folder}", file=sys.stderr)
        return 1 if work.failures else 0


def _length(arguments: argparse.Namespace, minutes: float) -> str:
    """How long every model is trained."""
    if minutes:
        return f"for {minutes:.3g} minutes each"
    if arguments.epochs:
        return f"for {arguments.epochs:g} epoch{'s' * (arguments.epochs != 1)} each"
    return "as long as their configurations say"


def _method(arguments: argparse.Namespace, study: Study, length: str, table: Table) -> str:
    """What a reader has to know, in sentences."""
    shown = dict.fromkeys(name for row in table.rows for name in row.models)
    ready = [name for name in shown if study.models[name].checkpoint]
    parts = []
    if len(ready) < len(shown):
        side = f"{arguments.workers} side by side with {arguments.threads} thread(s) each"
        parts.append(f"Models were trained {length} on the same trees, {side}")
        if study.shrink > 1:
            parts.append(f"sizes are those of their configurations divided by {study.shrink}")
    if ready:
        parts.append(f"{', '.join(ready)}: checkpoints as they are")
    if table.kind == "F1":
        lists = (
            f"{arguments.sentences} lists, evenly spread" if arguments.sentences else "all lists"
        )
        parts.append(f"{lists}; weights of mixtures are cross-validated in {FOLDS} blocks")
    return "; ".join(parts) + f". parse-reranker {version('parse-reranker')}, {_machine()}."


def _machine() -> str:
    """What times depend on."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, torch {version('torch')}"


def _command(arguments: argparse.Namespace) -> str:
    words = ["python eval/tables/make.py", str(arguments.study)]
    for name in (
        "budget",
        "epochs",
        "shrink",
        "seeds",
        "sentences",
        "workers",
        "threads",
        "device",
    ):
        if value := getattr(arguments, name):
            words.append(f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}")
    return " ".join([*words, *(["--only", *arguments.only] if arguments.only else [])])


def _checkpoints(study: Study) -> dict[str, str]:
    """The models that are judged as they are, and their files' SHA-256.

    Raises CheckpointError for a file that is no checkpoint, InputError for one that does not say
    how it was trained.
    """
    found = {}
    for name, model in study.models.items():
        if model.checkpoint:
            checkpoint = load_checkpoint(ROOT / model.checkpoint)
            if not {"tokens", "minutes"} <= checkpoint.information.keys():
                raise InputError(f"models.{name}: {model.checkpoint} does not say its training")
            found[name] = checkpoint.sha256
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", type=Path, metavar="STUDY.toml")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="some of its tables")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path("../shared/data"),
        metavar="FOLDER",
        help="where the study's files are (default: %(default)s)",
    )
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="keep every step here (default: runs/tables-*)"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--budget",
        type=_number(float, 0),
        default=0,
        metavar="MINUTES",
        help="wall-clock in all; 60 %% is for training, the same for every model "
        "(default: what the configurations say)",
    )
    length.add_argument(
        "--epochs",
        type=_number(float, 0),
        default=0,
        metavar="N",
        help="train every model for so many, whatever time it takes (paper recipe: each phase)",
    )
    counts = (
        ("sentences", 0, "score this many of each set's lists, evenly spread (default: all)"),
        ("shrink", 0, "divide all sizes by this (default: what the study says)"),
        ("seeds", 0, "train every model with so many seeds (default: what the study says)"),
        ("workers", 2, "commands at a time (default: 2)"),
        ("threads", 1, "of each command (default: 1)"),
    )
    for name, default, text in counts:
        kind = _number(int, 1)
        parser.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=text)
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda")
    parser.add_argument(
        "--into", type=Path, metavar="FILE.md", help="also put the tables between its markers"
    )
    return parser.parse_args(argv)


def _number(kind: type[float] | type[int], least: float) -> Any:
    def number(text: str) -> float:
        value = kind(text)
        if not least <= value < float("inf"):
            raise ValueError
        return value

    return number


if __name__ == "__main__":
    sys.exit(main())
