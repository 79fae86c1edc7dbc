"""Honest n-best lists of training sentences: ten BLLIP parsers, each trained on nine tenths of the
treebanks, parse the tenth that they have not seen.

    python eval/lists/jackknife.py ../shared/data/treebanks --static MODEL \\
        --programs bllip-parser/first-stage/TRAIN --out OUT

It needs nothing else of ours, only an environment with `pip install bllipparser`; the programs that
train the parser come with its source (github.com/BLLIP/bllip-parser) and are built there by `make
CXX="g++ -std=gnu++98"`. MODEL is a folder with the files that training does not make (terms.txt,
headInfo.txt, bugFix.txt, featInfo.*), for instance a trained one that knows the treebanks' labels.

Training a parser takes about 90 CPU-seconds, a sentence of 20 words half a CPU-second; what exists
is not made again. In OUT: `lists/TREEBANK-FOLD-NN.txt.gz`, ids being places in the treebank counted
from 0; `gold/TREEBANK-FOLD-NN.mrg.gz`, the gold tree of each list; `progress.tsv`, a line for each
shard; `failures.tsv`, sentences without a list, which are in neither.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import math
import multiprocessing
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from reranker.files.output import whole_file

WORD = re.compile(r"\([^()\s]+ ([^()\s]+)\)")
HEADING = re.compile(r"\(TOP \(NP \(NNP? Abstract\)\)\)")
FOLDS = 10
JACKKNIFED = ("gum", "craft")
ALWAYS_TRAINED_ON = ("wsj_sample",)
BLOCK = 256  # sentences that stay together where documents are not known
SHARD = 512
TUNED_ON = 30  # every 30th training tree; the programs use the first 1,000
STATIC = ("terms.txt", "headInfo.txt", "bugFix.txt", "featInfo.*")


class FoldShard(NamedTuple):
    treebank: str
    fold: int
    number: int
    places: Sequence[int]

    @property
    def name(self) -> str:
        return f"{self.treebank}-{self.fold}-{self.number:02}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("treebanks", type=Path)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--static", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--cpu-seconds", type=int, default=120, help="limit for one sentence")
    parser.add_argument(
        "--overparsing", type=int, default=21, help="BLLIP's; 10: three times as fast, 0.6 F1 less"
    )
    arguments = parser.parse_args()
    trees = {
        name: read_trees(arguments.treebanks / name / "train.mrg.gz")
        for name in JACKKNIFED + ALWAYS_TRAINED_ON
    }
    folds = {name: folds_of(trees[name]) for name in JACKKNIFED}
    for folder in ("lists", "gold", "models"):
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        of_fold = {name: shards(name, fold, folds[name][fold]) for name in JACKKNIFED}
        missing = [
            shard
            for shard in interleaved(list(of_fold.values()))
            if not (arguments.out / "lists" / f"{shard.name}.txt.gz").exists()
        ]
        if not missing:
            continue
        model = arguments.out / "models" / str(fold)
        if not model.exists():
            train(model, training_part(trees, folds, fold), arguments.programs, arguments.static)
        options = {"nbest": arguments.candidates, "overparsing": arguments.overparsing}
        with FoldParser(model, options, arguments.cpu_seconds) as child:
            for shard in missing:
                write_shard(arguments.out, shard, trees[shard.treebank], child)


def read_trees(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file]


def folds_of(trees: Sequence[str]) -> list[list[int]]:
    """The places of the trees of each fold, in order: whole documents in turn where headings show
    them (an article's title comes before "Abstract"), else blocks of neighbours."""
    starts = [place - 1 for place, tree in enumerate(trees) if place and HEADING.fullmatch(tree)]
    if len(starts) < FOLDS:
        starts = list(range(0, len(trees), BLOCK))
    bounds = [0, *starts[1:], len(trees)]
    folds: list[list[int]] = [[] for _ in range(FOLDS)]
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        folds[number % FOLDS] += range(begin, end)
    return folds


def shards(treebank: str, fold: int, places: Sequence[int]) -> list[FoldShard]:
    """The fold in pieces of like size, none above SHARD sentences."""
    pieces = max(1, math.ceil(len(places) / SHARD))
    cuts = [len(places) * piece // pieces for piece in range(pieces + 1)]
    return [FoldShard(treebank, fold, n, places[cuts[n] : cuts[n + 1]]) for n in range(pieces)]


def interleaved(treebanks: Sequence[Sequence[FoldShard]]) -> list[FoldShard]:
    """Every prefix has about the same share of each treebank."""
    placed = [((n + 0.5) / len(one), shard) for one in treebanks for n, shard in enumerate(one)]
    return [shard for _, shard in sorted(placed, key=lambda pair: pair[0])]


def training_part(
    trees: dict[str, list[str]], folds: dict[str, list[list[int]]], fold: int
) -> Iterator[str]:
    """All trees but those of the fold, with the root that BLLIP knows."""
    for name, of_one in trees.items():
        held_out = set(folds[name][fold]) if name in folds else set()
        for place, tree in enumerate(of_one):
            if place not in held_out:
                yield "(S1 " + tree.removeprefix("(TOP ")


def train(model: Path, trees: Iterator[str], programs: Path, static: Path) -> None:
    with tempfile.TemporaryDirectory(dir=model.parent, ignore_cleanup_errors=True) as folder:
        train_in(Path(folder).resolve(), trees, programs, static)
        Path(folder).rename(model)


def train_in(folder: Path, trees: Iterator[str], programs: Path, static: Path) -> None:
    for pattern in STATIC:
        for path in static.glob(pattern):
            shutil.copy(path, folder)
    parts: tuple[list[str], list[str]] = ([], [])
    for number, tree in enumerate(trees):
        parts[number % TUNED_ON == 0].append(tree + "\n")
    command = ["bash", str(programs / "trainParser"), "-parser", str(folder)]
    for name, part in zip(("train.mrg", "tune.mrg"), parts, strict=True):
        (folder / name).write_text("".join(part), "utf-8")
        command.append(str(folder / name))
    with (folder / "training.log").open("w") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)


class FoldParser:
    """A trained parser in a process of its own, which a hard sentence may end: BLLIP cannot be
    interrupted, and a process has only one model."""

    def __init__(self, model: Path, options: dict[str, int], cpu_seconds: int) -> None:
        self._arguments = (model, options, cpu_seconds)
        self._start()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._connection, theirs = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._connection.recv()  # EOFError if the model cannot be loaded

    def __enter__(self) -> FoldParser:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.join()

    def parse(self, words: Sequence[str]) -> tuple[list[str], float] | None:
        """Scores and trees, line by line, and CPU-seconds; None if the sentence has no parse or
        takes too long."""
        try:
            self._connection.send(words)
            lines, seconds = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            self._connection.close()
            self._start()
            return None
        return (lines, seconds) if lines else None


def serve(connection: Connection, model: Path, options: dict[str, int], cpu_seconds: int) -> None:
    from bllipparser import RerankingParser

    parser = RerankingParser()
    parser.load_parser_model(str(model), **options)
    connection.send("ready")
    while True:
        try:
            words = connection.recv()
        except EOFError:
            return
        begin = time.process_time()
        # Past that, the system kills the process.
        limit = math.ceil(begin) + cpu_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        _, _, rest = str(parser.parse(words)).strip().partition("\n")
        connection.send((rest.splitlines(), time.process_time() - begin))


def write_shard(out: Path, shard: FoldShard, trees: Sequence[str], parser: FoldParser) -> None:
    lists, gold, failed, cpu_seconds = [], [], [], 0.0
    for place in shard.places:
        words = WORD.findall(trees[place])
        parsed = parser.parse(words)
        if parsed is None:
            failed.append(f"{shard.treebank}\t{place}\t{len(words)} words\n")
            continue
        lines, seconds = parsed
        cpu_seconds += seconds
        lists.append("\n".join([f"{len(lines) // 2}\t{place}", *lines, "\n"]))
        gold.append(trees[place] + "\n")
    write_whole(out / "gold" / f"{shard.name}.mrg.gz", "".join(gold))
    with (out / "failures.tsv").open("a", encoding="utf-8") as file:
        file.writelines(failed)
    with (out / "progress.tsv").open("a", encoding="utf-8") as file:
        now = time.strftime("%F %T")
        file.write(f"{now}\t{shard.name}\t{len(lists)}\t{len(failed)}\t{cpu_seconds:.0f}\n")
    write_whole(out / "lists" / f"{shard.name}.txt.gz", "".join(lists))


def write_whole(path: Path, text: str) -> None:
    with whole_file(path) as file, gzip.open(file, "wt", encoding="utf-8") as packed:
        packed.write(text)


if __name__ == "__main__":
    main()
