"""Peak memory of commands that read treebanks or texts, by the number of sentences.

    python eval/plugins/memory.py masc/train.mrg.gz --work work --sentences 1000 10000 100000

Sentences are trees of at most 12 words of the treebank whose words are exchanged for others with
the same tags, so that hardly any two are the same. Texts are parsed by an untrained model, which is
fast: what a parser needs depends on the longest sentence, not on how many there are.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from reranker.files.table import aligned
from reranker.process.flags import positive, reporting_errors
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

LONGEST = 12
CONFIG = """[model]
architecture = "spans"
embedding_size = 4
spelling_size = 4
hidden_sizes = [4]
span_size = 4
[training]
recipe = "fast"
epochs = 1
minimum_tags = 1
"""
COMMANDS = {
    "convert": ["convert", "TREES", "--to", "tigerxml", "--clean"],
    "grep": ["grep", "NP < (NP $.. SBAR)", "TREES"],
    "clauses": ["clauses", "TREES"],
    "check": ["check", "TREES", "--parser-model", "MODEL"],
    "select": ["select", "TEXT", "--as", "sentences", "--parser-model", "MODEL"],
    "spoken": ["spoken", "TEXT", "--parser-model", "MODEL", "--models", "MODEL"],
}


@reporting_errors("memory")
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    add = parser.add_argument
    add("treebank")
    add("--work", type=Path, required=True, help="a new folder")
    add("--sentences", type=positive, nargs="+", default=[1_000, 10_000])
    add("--commands", nargs="+", choices=COMMANDS, default=[*COMMANDS])
    arguments = parser.parse_args(argv)
    work: Path = arguments.work
    work.mkdir()
    trees = [tree for tree in map(cleaned, read_treebank([arguments.treebank])) if _is_short(tree)]
    names = {"TREES": "trees.mrg", "TEXT": "text.txt", "MODEL": "model.pt"}
    files = {name: str(work / file) for name, file in names.items()}
    config = work / "tiny.toml"
    config.write_text(CONFIG)
    _write(trees[:300], files)
    known = ["--train", files["TREES"], "--dev", files["TREES"], "--out", files["MODEL"]]
    _peak(["train", "--config", str(config), *known], work / "log")
    rows: list[tuple[str, ...]] = [("command", *(f"{n:,}" for n in arguments.sentences))]
    table: dict[str, list[str]] = {name: [] for name in arguments.commands}
    for count in arguments.sentences:
        _write(_varied(trees, count), files)
        for name, row in table.items():
            command = [files.get(part, part) for part in COMMANDS[name]]
            row.append(f"{_peak(command, work / 'log'):.0f} MB")
            print(count, name, row[-1], file=sys.stderr, flush=True)
    rows += [(name, *row) for name, row in table.items()]
    print(aligned(rows))
    return 0


def _is_short(tree: Tree) -> bool:
    return 2 < len(tree.leaves()) <= LONGEST


def _varied(trees: Sequence[Tree], count: int) -> Iterator[Tree]:
    """Yield so many trees with other words of the same tags."""
    words: defaultdict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for word, tag in zip(tree.words(), tree.word_tags(), strict=True):
            words[tag].add(word)
    choices, chance = {tag: sorted(some) for tag, some in words.items()}, random.Random(1)

    def varied(node: Tree | str) -> Tree | str:
        if isinstance(node, str):
            return node
        if node.is_preterminal:
            return Tree(node.label, (chance.choice(choices[node.label]),))
        return Tree(node.label, tuple(map(varied, node.children)))

    for number in range(count):
        new = varied(trees[number % len(trees)])
        assert isinstance(new, Tree)
        yield new


def _write(trees: Iterator[Tree] | Sequence[Tree], files: dict[str, str]) -> None:
    with open(files["TREES"], "w") as bank, open(files["TEXT"], "w") as text:
        for tree in trees:
            bank.write(f"{tree.to_string()}\n")
            text.write(" ".join(tree.words()) + "\n")


def _peak(command: Sequence[str], log: Path) -> float:
    """Return the greatest memory of a command in MB."""
    with open(os.devnull, "w") as nowhere, open(log, "w") as errors:
        actions = [
            (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        full = [sys.executable, "-m", "reranker", *command]
        child = os.posix_spawn(sys.executable, full, os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) > 1:
        raise SystemExit(f"{' '.join(command)}: {log.read_text()}")
    return usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
