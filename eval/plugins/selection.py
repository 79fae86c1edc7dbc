"""F1 of a small parser after training on sentences that `rerank select` chose, and on random ones.

    python eval/plugins/selection.py icon/train.mrg.gz icon/dev.mrg.gz --work work

A span model without an encoder is trained on some trees. It parses other sentences, of which some
are selected, with as many words in all as 200 or 500 random ones have. Models are trained from the
beginning on the first trees and these, or the random ones. What is in `--work` is not made again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from reranker.evaluation.corpus import evaluate
from reranker.evaluation.parameters import Parameters
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
epochs = 15
learning_rate = 2e-3
batch_tokens = 400
validate_every = 0
minimum_tags = 5
keep = "last"
"""
"""Settings of a model that 500 trees train in half a minute."""


@reporting_errors("selection")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("train", help="gold trees: the seed and the pool")
    parser.add_argument("dev", help="gold trees that F1 is of")
    parser.add_argument("--language", default="id")
    parser.add_argument("--work", type=Path, required=True, help="folder for models and results")
    parser.add_argument("--start", type=positive, default=300, help="trees of the seed")
    parser.add_argument("--pool", type=positive, default=4_000, help="sentences to select from")
    parser.add_argument("--chosen", type=positive, nargs="+", default=[200, 500])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    mark = arguments.work / ".selection"
    if any(arguments.work.iterdir()) and not mark.is_file():
        parser.error(f"--work: {arguments.work} has files of others; name a new folder")
    mark.touch()
    rows: list[tuple[str, ...]] = [("seed", "trees", "chosen", "sentences", "words", "F1")]
    for seed in arguments.seeds:
        for row in Simulation(arguments, seed).rows():
            print(*row, flush=True)
            rows.append((str(seed), *map(str, row)))
    print(aligned(rows))
    return 0


class Simulation:
    """One random choice of the seed, the pool and the random sentences."""

    def __init__(self, arguments: argparse.Namespace, seed: int) -> None:
        self._flags, self._seed = arguments, seed
        trees = [*map(cleaned, read_treebank([arguments.train]))]
        random.Random(seed).shuffle(trees)
        self._start = trees[: arguments.start]
        self._pool = trees[arguments.start : arguments.start + arguments.pool]
        self._dev = [*map(cleaned, read_treebank([arguments.dev]))]

    def rows(self) -> Iterable[tuple[object, ...]]:
        """Yield number of trees, way of choosing, sentences, words and F1."""
        yield len(self._start), "-", 0, 0, self._f1("start", self._start)
        uncertain = self._entropies()
        for count in self._flags.chosen:
            rest = self._pool[:count]  # they have been shuffled
            words = sum(len(tree.leaves()) for tree in rest)
            lines = [each.line for each in choose(uncertain, Budget(None, words)).sentences]
            for name, chosen in (("random", rest), ("select", [self._pool[n] for n in lines])):
                total = sum(len(tree.leaves()) for tree in chosen)
                f1 = self._f1(f"{name}-{count}", [*self._start, *chosen])
                yield len(self._start) + count, name, len(chosen), total, f1

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
        model, config = self._path(name, "pt"), self._flags.work / "config.toml"
        if model.is_file():
            return
        config.write_text(CONFIG)
        files = self._path(name, "mrg"), self._flags.work / "dev.mrg"
        for file, some in zip(files, (trees, self._dev[:50]), strict=True):
            file.write_text("".join(f"{tree.to_string()}\n" for tree in some))
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
        done = subprocess.run([sys.executable, "-m", "reranker", "train", *flags], check=False)
        if done.returncode:
            raise SystemExit(done.returncode)

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


if __name__ == "__main__":
    sys.exit(main())
