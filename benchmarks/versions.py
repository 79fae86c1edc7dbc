"""Two versions in turns: the CPU time and the trees of another checkout beside ours.

    git worktree add --detach ../old 869b59d && cp -r .venv ../old/.venv  # then: pip install -e .
    python -m benchmarks.versions ../old gum/dev.mrg.gz gum_dev_50best.txt.gz

Each version runs in a warm process of its own with one thread, from its own folder and .venv. A
round gives both the same sentences, which neither has seen: parsed for the first tree (``fast``)
and for the best of 20, or BLLIP's lists of 50 of other sentences. Figures are CPU milliseconds a
sentence, medians over the rounds; the ratio is the median of each round's ratio. Both read the same
models, those of --models; the other version does without ``confidence.toml``, which has our weights
and shortlist, since old versions cannot read it.
``start`` is a command that reranks two short lists, less `import torch`, in CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.costs import timed
from reranker.evaluation.brackets import GoldTree
from reranker.evaluation.corpus import Summary
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.nbest import NBest, read_nbest
from reranker.nbest.writing import list_text
from reranker.process.flags import positive
from reranker.trees.tree import Tree

WORKER = Path(__file__).with_name("versions_worker.py")
MEASURES = ("first tree", "best of 20", "lists of 50", "lists of 50, doc")


class Checkout:
    """A version in a process that waits for work."""

    def __init__(self, folder: Path, given: Path, models: Path) -> None:
        self.python, self.folder = str(folder.resolve() / ".venv/bin/python"), folder
        self.environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "RERANK_MODELS": str(models.resolve()),
            "PYTHONPATH": "",
        }
        self._process = subprocess.Popen(
            [self.python, "-c", WORKER.read_text("utf-8"), str(given)],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, measure: str, first: int, end: int) -> tuple[float, list[str]]:
        """Return the CPU seconds and the best trees of some sentences or lists."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([measure, first, end]), file=self._process.stdin, flush=True)
        seconds, trees = json.loads(self._process.stdout.readline())
        return seconds, trees

    def start(self, lists: Path) -> float:
        """Return the CPU seconds of reranking the lists, less those of `import torch`."""
        command = [self.python, "-m", "reranker", "--nbest", str(lists), "--threads", "1"]
        whole, bare = map(self._seconds, (command, [self.python, "-c", "import torch"]))
        return whole - bare

    def _seconds(self, command: Sequence[str]) -> float:
        run = partial(
            subprocess.run,
            command,
            cwd=self.folder,
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return timed(run)[1].processor

    def close(self) -> None:
        self._process.communicate()


class Chosen(NamedTuple):
    """The sentences of a run, each with its gold tree and its list."""

    gold: list[str]
    lists: list[NBest]


def chosen(treebank: str, lists: str, wanted: int) -> Chosen:
    """Return sentences of 15 to 25 words, evenly spread over a treebank."""
    pairs = [
        (tree, nbest)
        for tree, nbest in zip(read_lines(treebank), read_nbest(lists), strict=True)
        if 15 <= len(nbest.words) <= 25 and nbest.candidates
    ]
    wanted = min(wanted, len(pairs))
    some = [pairs[number * len(pairs) // wanted] for number in range(wanted)]
    return Chosen([tree for tree, _ in some], [nbest for _, nbest in some])


@contextmanager
def prepared(models: Path, given: Chosen) -> Iterator[Path]:
    """Yield a folder with copies of the models, the lists, and the words to parse."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ignored = shutil.ignore_patterns("confidence.toml", "large")
        shutil.copytree(models, folder / "models", ignore=ignored)
        texts = [list_text(each, number, "bllip") for number, each in enumerate(given.lists)]
        (folder / "lists").write_text("".join(texts), "utf-8")
        (folder / "two").write_text("".join(texts[:2]), "utf-8")
        words = [Tree.from_string(tree).words() for tree in given.gold]
        (folder / "words.json").write_text(json.dumps(words), "utf-8")
        yield folder


def compared(
    old: Checkout, new: Checkout, measure: str, gold: Sequence[str], places: Sequence[range]
) -> tuple[str, ...]:
    """Return a row of the table; the first of the places warms up."""
    costs: list[tuple[float, float]] = []
    trees: tuple[list[str], list[str]] = ([], [])
    for number, place in enumerate(places):
        turns = (old, new) if number % 2 else (new, old)
        answers = {each: each.ask(measure, place.start, place.stop) for each in turns}
        for own, version in zip(trees, (old, new), strict=True):
            own += answers[version][1]
        if number:
            costs.append((answers[old][0] / len(place), answers[new][0] / len(place)))
    of_gold = [gold[number] for place in places for number in place]
    before, now = (f1(of_gold, own) for own in trees)
    differ = sum(a != b for a, b in zip(*trees, strict=True))
    return (
        *row(measure, [(1000 * a, 1000 * b) for a, b in costs], "ms"),
        f"{before:.2f}",
        f"{now:.2f}",
        f"{differ} of {len(of_gold)}",
    )


def f1(gold: Sequence[str], trees: Sequence[str]) -> float:
    """Return F1 in percent, whatever the roots are called."""
    pairs = zip(gold, map(Tree.from_string, trees), strict=True)
    return Summary.of([GoldTree(text, gold_tags=False).score(tree) for text, tree in pairs]).f1


def row(name: str, costs: Sequence[tuple[float, float]], unit: str) -> tuple[str, ...]:
    """Return the medians of both versions and of their ratio."""
    before, now = (median(some) for some in zip(*costs, strict=True))
    ratio = median(b / a for a, b in costs)
    return name, f"{before:.3g} {unit}", f"{now:.3g} {unit}", f"{ratio:.2f}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    add: Any = parser.add_argument
    add("old", type=Path, help="the other checkout, with its .venv")
    add("treebank", help="gold trees, one on each line")
    add("lists", help="BLLIP's lists of the same sentences")
    add("--models", type=Path, default=Path("ckpt"), help="a folder (default: %(default)s)")
    add("--measures", nargs="+", choices=(*MEASURES, "start"), default=(*MEASURES, "start"))
    add("--rounds", type=positive, default=5, help="(default: %(default)s)")
    add("--sentences", type=positive, default=30, help="of a round (default: %(default)s)")
    arguments = parser.parse_args(argv)
    size, rounds = arguments.sentences, arguments.rounds + 1
    given = chosen(arguments.treebank, arguments.lists, 2 * size * rounds)
    size = len(given.gold) // (2 * rounds)
    rows: list[tuple[str, ...]] = [
        ("CPU a sentence", "before", "now", "ratio", "F1 before", "now", "other trees")
    ]
    with prepared(arguments.models, given) as folder, ExitStack() as opened:
        old = Checkout(arguments.old, folder, folder / "models")
        new = Checkout(Path(), folder, arguments.models)
        for each in (old, new):
            opened.callback(each.close)
        for measure in arguments.measures:
            if measure == "start":
                costs = [(old.start(folder / "two"), new.start(folder / "two")) for _ in range(5)]
                rows.append((*row(measure, costs, "s"), "", "", ""))
                continue
            # Lists of other sentences than those parsed: a parser's reading is remembered.
            start = size * rounds if "lists" in measure else 0
            places = [range(start + n * size, start + (n + 1) * size) for n in range(rounds)]
            rows.append(compared(old, new, measure, given.gold, places))
    print(aligned(rows))


if __name__ == "__main__":
    main()
