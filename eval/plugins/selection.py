"""F1 of a small parser after training on sentences that `rerank select` chose, and on random ones.

    python eval/plugins/selection.py icon/train.mrg.gz icon/dev.mrg.gz --work work \
        --picture curve.png

A span model without an encoder is trained on some trees. It parses other sentences, of which some
are selected, with as many words in all as 200, 500 or 1,000 random ones have. Models are trained
from the beginning on the first trees and these, or the random ones. What is in `--work` is not made
again.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reranker import registry
from reranker.evaluation.corpus import evaluate
from reranker.evaluation.parameters import Parameters
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import output_path
from reranker.files.table import aligned
from reranker.nbest.data import NBest, Sentence
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.plugins.selecting.choosing import Budget, Uncertain, choose
from reranker.process.flags import positive, reporting_errors
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

CONFIG = """[model]
architecture = "spans"
embedding_size = 64
spelling_rows = 20000
spelling_size = 64
hidden_sizes = [128]
span_size = 128
input_dropout = 0.3
hidden_dropout = 0.3
span_dropout = 0.1
[training]
recipe = "fast"
precision = "float32"
epochs = 12
learning_rate = 4e-3
batch_tokens = 1200
validate_every = 0
minimum_tags = 5
keep = "last"
"""
"""Settings of a model that 1,300 trees train in a minute."""
WAYS = ("random", "select")


class Row(NamedTuple):
    """A model's F1, and the trees that were added to the first ones."""

    seed: int
    random_trees: int
    """Random ones with as many words."""
    way: str
    """``random``, ``select``, or empty for the first trees alone."""
    trees: int
    words: int
    f1: float


@reporting_errors("selection")
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    add = parser.add_argument
    add("train", help="gold trees: the first ones and the pool")
    add("dev", help="gold trees that F1 is of")
    add("--language", default="id")
    add("--work", type=Path, required=True, help="folder for models and results")
    add("--start", type=positive, default=300, help="trees to begin with")
    add("--pool", type=positive, default=4_000, help="sentences to select from")
    add("--dev-sentences", type=positive, default=600, help="so many random ones of DEV")
    add("--chosen", type=positive, nargs="+", default=[200, 500, 1_000])
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    add("--config", type=Path, help="settings of the training (default: those in this file)")
    add("--picture", type=Path, metavar="FILE", help="F1 by words, drawn")
    arguments = parser.parse_args(argv)
    picture = output_path(arguments.picture, [arguments.train, arguments.dev])
    figure = new_figure(picture) if picture else None
    arguments.work.mkdir(parents=True, exist_ok=True)
    mark = arguments.work / ".selection"
    if any(arguments.work.iterdir()) and not mark.is_file():
        parser.error(f"--work: {arguments.work} has files of others; name a new folder")
    mark.touch()
    rows = []
    for seed in arguments.seeds:
        for row in Simulation(arguments, seed).rows():
            print(*row, file=sys.stderr, flush=True)
            rows.append(row)
    print(aligned([Row._fields, *(tuple(map(str, row)) for row in rows)]))
    print(aligned([("random_trees", *WAYS, "difference", "deviation"), *summary(rows)]))
    if figure and picture:
        axes = figure.add_subplot()
        for way in WAYS:
            points = curve(rows, way)
            axes.plot(*zip(*points, strict=True), marker="o", label=way)
            some = [row for row in rows if row.way in ("", way)]
            words, f1 = [row.words for row in some], [row.f1 for row in some]
            axes.plot(words, f1, ".", color=axes.lines[-1].get_color())
        axes.set(xlabel=f"words annotated besides {arguments.start} trees", ylabel="F1")
        axes.legend()
        save_figure(figure, picture)
    return 0


def summary(rows: Sequence[Row]) -> Iterable[tuple[str, ...]]:
    """Yield, for each number of trees, the mean F1 of both ways, that of the difference, and the
    standard deviation of the differences."""
    for count in sorted({row.random_trees for row in rows if row.way}):
        random_f1, select_f1 = (
            [row.f1 for row in rows if (row.random_trees, row.way) == (count, way)] for way in WAYS
        )
        gains = [one - other for one, other in zip(select_f1, random_f1, strict=True)]
        spread = f"{statistics.stdev(gains):.2f}" if len(gains) > 1 else ""
        means = map(statistics.mean, (random_f1, select_f1, gains))
        yield (str(count), *(f"{mean:.2f}" for mean in means), spread)


def curve(rows: Sequence[Row], way: str) -> list[tuple[float, float]]:
    """Return mean words and mean F1 for each number of trees."""
    points = []
    for count in sorted({row.random_trees for row in rows}):
        some = [row for row in rows if row.random_trees == count and row.way in ("", way)]
        points.append(
            (
                statistics.mean(row.words for row in some),
                statistics.mean(row.f1 for row in some),
            )
        )
    return points


class Simulation:
    """One random choice of the first trees, the pool and the random sentences."""

    def __init__(self, arguments: argparse.Namespace, seed: int) -> None:
        self._flags, self._seed = arguments, seed
        trees = [*map(cleaned, read_treebank([arguments.train]))]
        random.Random(seed).shuffle(trees)
        self._start = trees[: arguments.start]
        self._pool = trees[arguments.start : arguments.start + arguments.pool]
        dev = [*map(cleaned, read_treebank([arguments.dev]))]
        random.Random(0).shuffle(dev)
        self._dev = dev[: arguments.dev_sentences]

    def rows(self) -> Iterable[Row]:
        """Yield the result of each model."""
        yield Row(self._seed, 0, "", 0, 0, self._f1("start", self._start))
        uncertain = self._entropies()
        for count in self._flags.chosen:
            rest = self._pool[:count]  # they have been shuffled
            budget = Budget(None, _words(rest))
            selected = [self._pool[each.line] for each in choose(uncertain, budget).sentences]
            for way, chosen in zip(WAYS, (rest, selected), strict=True):
                f1 = self._f1(f"{way}-{count}", [*self._start, *chosen])
                yield Row(self._seed, count, way, len(chosen), _words(chosen), f1)

    def _entropies(self) -> list[Uncertain]:
        path = self._path("entropies", "json")
        if not path.is_file():
            found = []
            for number, nbest in enumerate(self._parsed("start", self._pool)):
                entropy = nbest.certainty.entropy if nbest.certainty else 0.0
                found.append(Uncertain("", number, entropy, " ".join(nbest.words), "", ""))
            path.write_text(json.dumps(found))
        return [Uncertain(*row) for row in json.loads(path.read_text())]

    def _f1(self, name: str, trees: Sequence[Tree]) -> float:
        path = self._path(name, "f1")
        if not path.is_file():
            self._train(name, trees)
            best = [nbest.candidates[0].text for nbest in self._parsed(name, self._dev)]
            score = evaluate([tree.to_string() for tree in self._dev], best, Parameters.collins())
            path.write_text(f"{score.all.f1}")
        return round(float(path.read_text()), 2)

    def _train(self, name: str, trees: Sequence[Tree]) -> None:
        model, config = self._path(name, "pt"), self._flags.config
        files = self._path(name, "mrg"), self._flags.work / "dev.mrg"
        for file, some in zip(files, (trees, self._dev[:50]), strict=True):
            file.write_text("".join(f"{tree.to_string()}\n" for tree in some))
        if model.is_file():
            return
        if config is None:
            config = self._flags.work / "config.toml"
            config.write_text(CONFIG)
        options = {
            "config": config,
            "train": files[0],
            "dev": files[1],
            "out": model,
            "log-folder": self._path(name, "log"),
            "language": self._flags.language,
            "seed": self._seed,
            "threads": 1,
        }
        flags = [str(part) for flag, value in options.items() for part in (f"--{flag}", value)]
        train, parser = registry.load("commands", "train"), argparse.ArgumentParser()
        train.add_arguments(parser)
        if code := train.run(parser.parse_args(flags)):
            raise SystemExit(code)

    def _parsed(self, name: str, trees: Sequence[Tree]) -> Iterable[NBest]:
        parser = create_parser(
            "chart", ParserSettings(model=str(self._path(name, "pt")), candidates=1)
        )
        for first in range(0, len(trees), 8):
            sentences = [Sentence(tuple(tree.words())) for tree in trees[first : first + 8]]
            for nbest in parser.parse(sentences):
                assert isinstance(nbest, NBest), nbest
                yield nbest

    def _path(self, name: str, ending: str) -> Path:
        work: Path = self._flags.work
        return work / f"{self._seed}-{name}.{ending}"


def _words(trees: Iterable[Tree]) -> int:
    return sum(len(tree.leaves()) for tree in trees)


if __name__ == "__main__":
    sys.exit(main())
