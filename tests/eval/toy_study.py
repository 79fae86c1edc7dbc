"""Treebanks, lists and a study that train in a second, for the tests of eval/tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.eval.scripts import EVAL

TABLES = EVAL / "tables"

_SUBJECTS = ("The dog", "A child", "The old man", "A cat")
_OBJECTS = ("the fish", "a bird", "the tree", "a red house")
_VERBS = ("sees", "eats", "likes")

# Trees and lists, to which settings of the set may be added, and the quickest model.
DATA = """
[data]
train = ["train.mrg"]
dev = ["dev.mrg"]

[sets.dev]
name = "toy dev"
trees = ["dev.mrg"]
nbest = "dev.nbest"
"""
LSTM = """
[models.lstm]
config = "small-lstm.toml"
"""
_DOC = """
gold_tags = true

[models.doc]
config = "tiny.toml"
seeds = 2
"""
_TABLES = """
[tables.choice]
title = "Which chooses best"
kind = "F1"
sets = ["dev"]
reference = "DOC"
rows = [
    { name = "LSTM", models = ["lstm"] },
    { name = "DOC", models = ["doc"] },
    { name = "DOC x 2", models = ["doc"], ensemble = true },
]

[tables.words]
title = "Which predicts best"
kind = "perplexity"
sets = ["dev"]
rows = [
    { name = "DOC", models = ["doc"], printed = "7.77" },
    { name = "both", models = ["doc", "lstm"], seeds = 1, ensemble = true },
]
"""
STUDY = DATA + _DOC + LSTM + _TABLES


def trees() -> list[str]:
    """Return 48 sentences, ``(TOP (S (NP The dog) (VP sees (NP the fish)) .))`` with tags."""
    return [
        f"(TOP (S {_phrase(subject)} (VP (VBZ {verb}) {_phrase(other)}) (. .)))"
        for subject in _SUBJECTS
        for other in _OBJECTS
        for verb in _VERBS
    ]


def nbest(gold: list[str], scores: bool = True) -> str:
    """Return three candidates for each sentence, as the Charniak parser prints them. Gold is the
    first of every second list, else the second."""
    blocks = []
    for number, tree in enumerate(gold):
        flat = tree.replace("(VP ", "").replace(") (. .)", " (. .)")
        fragment = tree.replace("(TOP (S ", "(TOP (FRAG ")
        candidates = [tree, flat, fragment] if number % 2 else [flat, tree, fragment]
        lines = [f"{-20.5 - place}\n{one}" for place, one in enumerate(candidates)]
        blocks.append(f"3\t{number}\n" + "\n".join(lines) + "\n\n")
    return "".join(blocks)


def write_data(folder: Path) -> None:
    """Write 36 trees to train on, 12 to judge by."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.mrg").write_text("\n".join(trees()[:36]) + "\n", encoding="utf-8")
    (folder / "dev.mrg").write_text("\n".join(trees()[36:]) + "\n", encoding="utf-8")
    (folder / "dev.nbest").write_text(nbest(trees()[36:]), encoding="utf-8")


def command(study: Path, data: Path, work: Path, *flags: str) -> list[str]:
    made = [sys.executable, str(TABLES / "make.py"), str(study)]
    return [*made, "--data", str(data), "--work", str(work), *flags]


def make(study: Path, data: Path, work: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run eval/tables/make.py; return its result."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command(study, data, work, *flags), capture_output=True, text=True, env=environment
    )


def _phrase(words: str) -> str:
    determiner, *rest = words.split()
    return f"(NP (DT {determiner}) {' '.join(f'(NN {one})' for one in rest)})"
