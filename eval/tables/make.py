"""Train, score and tabulate what a study describes, all of it or what is not done yet:

    python eval/tables/make.py eval/tables/open.toml --budget 55
    python eval/tables/make.py eval/recipes/ptb-parsing.toml --data ~/ptb --device cuda

docs/research/tables.md explains the tables and the study's file. Interrupted at any moment, the
same command resumes: training from its last saved state, scoring from its last sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures import FOLDS, Figures, markdown
from steps import StudyWork
from study import Study, StudyTable

from reranker.errors import InputError
from reranker.files.claim import claimed
from reranker.files.opening import file_sha256
from reranker.files.output import always, check_new, make_folder, never, open_whole, record_in
from reranker.process.flags import positive, reporting_errors, script_parser

# The part of the budget for training; scoring, mostly of n-best lists, is known to take less than
# the rest with the study's own number of sentences.
TRAINING_SHARE = 0.6


@reporting_errors("tables")
def main(argv: Sequence[str]) -> int:
    """Make the tables; return 0, 1 if a row failed, 2 if nothing could be done, 130 if
    interrupted."""
    parser = _arguments()
    arguments = parser.parse_args(argv)
    if min(arguments.budget, arguments.epochs) < 0:
        parser.error("--budget and --epochs: not a negative number")
    arguments.command = shlex.join(["python", "eval/tables/make.py", *argv])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _make(arguments)
    except KeyboardInterrupt:
        print("tables: interrupted; the same command resumes", file=sys.stderr)
        return 130


def _make(arguments: argparse.Namespace) -> int:
    """Make a plan, run it and report."""
    study = Study.read(arguments.study, arguments.only, arguments.shrink, arguments.seeds)
    sources = study.sources(arguments.data)
    to_train = sum(model.seeds for model in study.models.values())
    minutes = TRAINING_SHARE * arguments.budget * arguments.workers / to_train
    length, flags = "as long as their configurations say", []
    if minutes:
        # Nothing else ends training, or the quickest models would get less of the budget.
        flags = ["--budget", f"{minutes:.4f}", "--epochs", "0"]
        length = f"for {minutes:.3g} minutes each"
    elif epochs := arguments.epochs:
        flags = ["--epochs", f"{epochs:g}"]
        length = f"for {epochs:g} epoch{'s' * (epochs != 1)} each"
    settings = {
        "minutes of training for each model": round(minutes, 4),
        "epochs": arguments.epochs,
        "shrink": study.shrink,
        "sentences": arguments.sentences,
        "device": arguments.device,
        "workers and threads": [arguments.workers, arguments.threads],
        "data": {str(path): file_sha256(path)[:16] for path in sources},
        "machine": _machine(),
        "text": study.data.text,
        "sets": {name: judged.model_dump() for name, judged in study.sets.items()},
    }
    folder = arguments.work or Path("runs", "-".join(["tables", study.path.stem, *arguments.only]))
    make_folder(folder)
    with claimed(folder / "settings.json"):
        check_settings(folder, settings)
        options = ["--device", arguments.device, "--threads", str(arguments.threads)]
        work = StudyWork(study, folder, arguments.data, options, flags, arguments.threads)
        print(f"{to_train} models to be trained {length}", file=sys.stderr)
        work.prepare(arguments.sentences)
        work.run(arguments.workers)
        figures = Figures(work)
        for name, table in study.tables.items():
            method = _method(arguments, study, length, table)
            how = {"method": method, "commands": [arguments.command], "settings": settings}
            _publish(name, {**figures.table(table), **how}, folder)
        print(f"tables: as Markdown and JSON in {folder}", file=sys.stderr)
        return 1 if work.failures else 0


def check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Keep what every figure depends on, except the models themselves. Raises InputError if the
    folder was begun with other settings, or by something else."""
    path, text = folder / "settings.json", json.dumps(settings, indent=1)
    if (record := record_in(path)) is None:
        check_new(folder, "choose another --work")
        with open_whole(path, never) as file:
            file.write(text)
    before, now = json.loads(record or text), json.loads(text)
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            old, new = (json.dumps(each.get(name))[:100] for each in (before, now))
            raise InputError(
                f"{folder} was begun with {name} {old}, now it is {new}; choose another "
                "--work, or delete it"
            )


def _publish(name: str, table: dict[str, Any], folder: Path) -> None:
    """Print the table, and write it as Markdown and JSON."""
    text = markdown(table)
    print(text)
    content = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
    for ending, written in ((".json", content), (".md", text)):
        with open_whole(folder / f"{name}{ending}", always) as file:
            file.write(written)


def _method(arguments: argparse.Namespace, study: Study, length: str, table: StudyTable) -> str:
    """Describe the method for a reader, in sentences."""
    side = f"{arguments.workers} side by side with {arguments.threads} thread(s) each"
    same = "text" if study.data.text else "trees"
    parts = [f"Models were trained {length} on the same {same}, {side}"]
    if study.shrink > 1:
        parts.append(f"sizes are those of their configurations divided by {study.shrink}")
    if table.kind == "F1":
        count = arguments.sentences
        lists = f"{count} lists, evenly spread" if count else "all lists"
        parts.append(f"{lists}; weights of mixtures are cross-validated in {FOLDS} blocks")
    return "; ".join(parts) + f". parse-reranker {version('parse-reranker')}, {_machine()}."


def _machine() -> str:
    """Describe the machine, on which times depend."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text("utf-8").splitlines() if cpus.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(names, platform.machine())}, {os.cpu_count()} cores, torch {version('torch')}"


def _arguments() -> argparse.ArgumentParser:
    parser = script_parser("make.py", __doc__)
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY.toml")
    add("--only", nargs="+", default=[], metavar="TABLE", help="some of its tables")
    text = "where the study's files are (default: %(default)s)"
    add("--data", type=Path, default=Path("../shared/data"), metavar="FOLDER", help=text)
    text = "keep every step here (default: runs/tables-*)"
    add("--work", type=Path, metavar="FOLDER", help=text)
    either = parser.add_mutually_exclusive_group()
    text = "in all; 60%% is for training, the same for every model (default: no limit)"
    either.add_argument("--budget", type=float, default=0, metavar="MINUTES", help=text)
    text = "of every model, however long (paper recipe: each phase; default: its configuration's)"
    either.add_argument("--epochs", type=float, default=0, metavar="N", help=text)
    text = "score this many of each set's lists, evenly spread (default: all)"
    add("--sentences", type=positive, default=0, metavar="N", help=text)
    text = "divide all sizes by this (default: what the study says)"
    add("--shrink", type=positive, default=0, metavar="N", help=text)
    text = "train every model with so many seeds (default: what the study says)"
    add("--seeds", type=positive, default=0, metavar="N", help=text)
    add("--workers", type=positive, default=2, metavar="N", help="commands at a time (default: 2)")
    add("--threads", type=positive, default=1, metavar="N", help="of each command (default: 1)")
    add("--device", default="cpu", metavar="cpu|cuda", help="where (default: cpu)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
