"""Train, score and tabulate what a study describes, all of it or what is not done yet:

    python eval/tables/make.py eval/tables/open.toml --budget 55
    python eval/tables/make.py eval/recipes/ptb-parsing.toml --data ~/ptb --device cuda

docs/results.md explains the tables and the study's file. Interrupted at any moment, the same
command resumes: training from its last saved state, scoring from its last sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from plan import plan
from prepare import Files, prepare, source_files
from report import markdown
from results import FOLDS, Results
from study import ROOT, Study, Table, to_toml
from work import Work, work_folder

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.errors import InputError, RerankError
from reranker.files.digest import file_sha256
from reranker.files.markdown import page_with
from reranker.files.output import open_whole

# The part of the budget for training; scoring, mostly of n-best lists, is known to take less than
# the rest with the study's own number of sentences.
TRAINING_SHARE = 0.6
RECORDED = ("budget", "epochs", "shrink", "seeds", "sentences", "workers", "threads", "device")


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
        print("tables: interrupted; the same command resumes", file=sys.stderr)
        return 130


def _make(arguments: argparse.Namespace) -> int:
    """Plan, run and report."""
    study = Study.read(arguments.study, arguments.only, arguments.shrink, arguments.seeds)
    sources = source_files(study, arguments.data)
    digests = _checkpoint_digests(study)
    to_train = sum(study.models[name].seeds for name in study.trained)
    minutes = TRAINING_SHARE * arguments.budget * arguments.workers / max(1, to_train)
    minutes = minutes if to_train else 0.0
    settings = _settings(arguments, study, sources, minutes)
    folder = arguments.work or Path("runs", "-".join(["tables", study.path.stem, *arguments.only]))
    with work_folder(folder, settings, arguments.workers, arguments.threads) as work:
        files = Files(folder)
        _write_models(study, work, files, digests)
        length = _length(arguments, minutes)
        to_do = f", {to_train} to be trained {length}" if to_train else ""
        print(f"{len(study.all_runs())} models{to_do}", file=sys.stderr)
        prepare(study, arguments.data, files, arguments.sentences)
        work.run(plan(study, files, *_flags(arguments, minutes)))
        results = Results(study, work, files)
        tables = {
            name: {
                **results.table(table),
                "method": _method(arguments, study, length, table),
                "commands": [_command(arguments)],
                "budget_minutes": arguments.budget,
                "minutes_each": minutes,
                "epochs": arguments.epochs,
                "settings": settings,
            }
            for name, table in study.tables.items()
        }
        _publish(tables, folder, arguments.into)
        return 1 if work.failures else 0


def _settings(
    arguments: argparse.Namespace, study: Study, sources: Sequence[Path], minutes: float
) -> dict[str, Any]:
    """What every figure depends on, except the models themselves."""
    return {
        "minutes of training for each model": round(minutes, 4),
        "epochs": arguments.epochs,
        "shrink": study.shrink,
        "sentences": arguments.sentences,
        "device": arguments.device,
        "workers and threads": [arguments.workers, arguments.threads],
        "data": {str(path): file_sha256(path)[:16] for path in sources},
        "text": [study.data.text, study.data.words_per_tree],
        "sets": {name: evaluated.model_dump() for name, evaluated in study.sets.items()},
        "machine": _machine(),
    }


def _write_models(study: Study, work: Work, files: Files, digests: dict[str, str]) -> None:
    """Configurations of the models to be trained, and copies of the checkpoints."""
    for name in study.trained:
        work.write(files.config(name), to_toml(study.settings(name)))
    for name, digest in digests.items():
        work.write(files.config(name).with_suffix(".sha256"), digest + "\n")
        files.checkpoint(name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / study.models[name].checkpoint, files.checkpoint(name))


def _flags(arguments: argparse.Namespace, minutes: float) -> tuple[list[str], list[str]]:
    """Of training, how long; of every command, on what."""
    # Under a budget nothing else ends training, or the quickest models would get less of it.
    length = ["--budget", f"{minutes:.4f}", "--epochs", "0"] if minutes else []
    length += ["--epochs", f"{arguments.epochs:g}"] if arguments.epochs else []
    return length, ["--device", arguments.device, "--threads", str(arguments.threads)]


def _publish(tables: dict[str, dict[str, Any]], folder: Path, into: Path | None) -> None:
    for name, table in tables.items():
        text = markdown(table)
        print(text)
        with open_whole(folder / f"{name}.json") as file:
            file.write(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
        with open_whole(folder / f"{name}.md") as file:
            file.write(text)
        if into:
            into.write_text(page_with(into, name, text), "utf-8")
    print(f"tables: as Markdown and JSON in {folder}", file=sys.stderr)


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
        count = arguments.sentences
        lists = f"{count} lists, evenly spread" if count else "all lists"
        parts.append(f"{lists}; weights of mixtures are cross-validated in {FOLDS} blocks")
    return "; ".join(parts) + f". parse-reranker {version('parse-reranker')}, {_machine()}."


def _machine() -> str:
    """What times depend on."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, torch {version('torch')}"


def _command(arguments: argparse.Namespace) -> str:
    words = ["python eval/tables/make.py", str(arguments.study)]
    for name in RECORDED:
        if value := getattr(arguments, name):
            words.append(f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}")
    return " ".join([*words, *(["--only", *arguments.only] if arguments.only else [])])


def _checkpoint_digests(study: Study) -> dict[str, str]:
    """SHA-256 of the models that are judged as they are.

    Raises CheckpointError for a file that is no checkpoint, InputError for one that does not say
    how it was trained.
    """
    digests = {}
    for name, model in study.models.items():
        if model.checkpoint:
            checkpoint = load_checkpoint(ROOT / model.checkpoint)
            if not {"tokens", "minutes"} <= checkpoint.information.keys():
                raise InputError(f"models.{name}: {model.checkpoint} does not say its training")
            digests[name] = checkpoint.sha256
    return digests


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def add(flag: str, text: str, group: Any = parser, **settings: Any) -> None:
        group.add_argument(flag, help=text, **settings)

    amount, count = _number(float, 0), _number(int, 1)
    parser.add_argument("study", type=Path, metavar="STUDY.toml")
    add("--only", "some of its tables", nargs="+", default=[], metavar="TABLE")
    text = "where the study's files are (default: %(default)s)"
    add("--data", text, type=Path, default=Path("../shared/data"), metavar="FOLDER")
    add("--work", "keep every step here (default: runs/tables-*)", type=Path, metavar="FOLDER")
    either = parser.add_mutually_exclusive_group()
    text = "wall-clock in all; 60 %% is for training, the same for every model "
    text += "(default: what the configurations say)"
    add("--budget", text, either, type=amount, default=0, metavar="MINUTES")
    text = "train every model for so many, whatever time it takes (paper recipe: each phase)"
    add("--epochs", text, either, type=amount, default=0, metavar="N")
    text = "score this many of each set's lists, evenly spread (default: all)"
    add("--sentences", text, type=count, default=0, metavar="N")
    text = "divide all sizes by this (default: what the study says)"
    add("--shrink", text, type=count, default=0, metavar="N")
    text = "train every model with so many seeds (default: what the study says)"
    add("--seeds", text, type=count, default=0, metavar="N")
    add("--workers", "commands at a time (default: 2)", type=count, default=2, metavar="N")
    add("--threads", "of each command (default: 1)", type=count, default=1, metavar="N")
    add("--device", "where (default: cpu)", default="cpu", metavar="cpu|cuda")
    add("--into", "also put the tables between its markers", type=Path, metavar="FILE.md")
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
