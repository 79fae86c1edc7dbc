"""eval/recipes: each, end to end, on a few dozen sentences in the files that it asks for."""

from __future__ import annotations

import gzip
import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.eval.scripts import module, run
from tests.eval.toy_study import TABLES, make, nbest, trees

RECIPES = sorted((TABLES.parent / "recipes").glob("*.toml"))
# Sizes are divided as far as all of a recipe's can be; a thesis model has 277 or 289.
SHRINK = dict.fromkeys(("ptb-thesis", "wikipedia-thesis", "lambada-thesis"), 1)
LONG = 5  # rows; of a longer table the first and the last two are made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write the licensed files' names and notations: 36 sentences to train on, 12 to judge by."""
    folder = tmp_path / "data"
    train, dev = trees()[:36], trees()[36:]
    sections = {"02": train[:12], "10": train[12:24], "21": train[24:], "22": dev, "23": dev}
    for section, part in sections.items():
        _write_section(folder, section, part)
    for section in ("22", "23"):
        with gzip.open(folder / f"charniak-{section}-500.txt.gz", "wt") as file:
            file.write(nbest(dev).replace("(TOP ", "(S1 "))
    with gzip.open(folder / "rnng-23-700.txt.gz", "wt") as file:
        file.writelines(_samples(dev))
    (folder / "sentences-23.txt").write_text("".join(map(_line, dev)), "utf-8")
    texts = {"train": 4 * train, "valid": dev, "test": dev[:6]}
    for name, ending in (("ptb", "txt"), ("wiki", "tokens")):
        for split, lines in texts.items():
            text = "".join(f" {_line(tree)}" for tree in lines).replace("red", "<unk>")
            (folder / f"{name}.{split}.{ending}").write_text(text, "utf-8")
    _write_corpora(folder, train)
    for name in ("development", "control_test_data"):
        text = "".join(map(_line, trees()[36:]))
        (folder / f"lambada_{name}_plain_text.txt").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_can_be_read(recipe: Path) -> None:
    study = module("tables/study.py").Study.read(recipe)
    shown = {name for table in study.tables.values() for row in table.rows for name in row.models}
    assert shown == set(study.models), "models that no table shows"
    for table in study.tables.values():
        for row in table.rows:
            # A figure for each set, unless the paper has no such table.
            figures = len(row.printed.split(", ")) if row.printed else 0
            assert figures == len(table.sets), row


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_table_is_filled(recipe: Path, data: Path, tmp_path: Path) -> None:
    shrink = str(SHRINK.get(recipe.stem, 10))
    shortened = tmp_path / recipe.name
    shortened.write_text(_shortened(recipe), "utf-8")
    done = make(
        shortened, data, tmp_path / "work", "--epochs", "1", "--seeds", "1", "--shrink", shrink
    )
    assert done.returncode == 0, done.stderr
    tables = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "work").glob("*.json")]
    tables = [table for table in tables if "rows" in table]
    assert len(tables) == recipe.read_text("utf-8").count("\n[tables.")
    for table in tables:
        for row in table["rows"]:
            for figures in row["sets"].values():
                assert all(1 <= one < math.inf for one in figures["perplexity"])
                if table["kind"] == "F1":
                    assert all(0 < one["f1"] <= 100 for one in figures["alone"] + figures["mixed"])
                    assert len(figures["mixed"]) == 1
        if table["kind"] == "F1":
            [one] = table["sets"].values()
            assert one["sentences"] == 12
            # As in test_tables.py: 42 of 48 brackets matched, 42 found, gold among the candidates.
            assert one["parser"] == pytest.approx(100 * 2 * 42 / (48 + 42))
            assert one["oracle"] == 100


def _shortened(recipe: Path) -> str:
    """Return the recipe with fewer rows, and without the models of the others."""
    study = tomllib.loads(recipe.read_text("utf-8"))
    for table in study["tables"].values():
        rows = table["rows"]
        table["rows"] = (
            rows if len(rows) <= LONG or "F1" in table["kind"] else [*rows[:2], *rows[-2:]]
        )
    shown = {
        name for each in study["tables"].values() for row in each["rows"] for name in row["models"]
    }
    study["models"] = {name: model for name, model in study["models"].items() if name in shown}
    return "".join(f"{name} = {_inline(value)}\n" for name, value in study.items())


def _inline(value: Any) -> str:
    """Return a value as TOML, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)


def _write_corpora(folder: Path, train: list[str]) -> None:
    """Write the output of eval/texts for a dozen files."""
    sources = []
    for place in range(12):
        source = folder / f"{place}.source"
        text = "".join(map(_line, train[3 * place : 3 * place + 3] * 4))
        source.write_text(text, "utf-8")
        sources.append(str(source))
    for name in ("wikipedia", "lambada"):
        run("texts/corpus.py", name, *sources, "--out", folder, "--words", "12")


def _write_section(folder: Path, section: str, part: list[str]) -> None:
    """Write trees as the treebank has them: over several lines, without a name for the root, with
    function tags."""
    path = folder / "wsj" / section / f"wsj_{section}01.mrg"
    path.parent.mkdir(parents=True)
    bare = (tree.replace("(TOP (S (NP", "( (S\n    (NP-SBJ", 1) for tree in part)
    path.write_text("".join(f"{tree}\n" for tree in bare), "utf-8")


def _samples(dev: list[str]) -> list[str]:
    """Return ``7 ||| -20.5 ||| (S (NP A cat) (VP UNK-LC-s (NP the fish)) .)``, twice each."""
    lines = []
    for block in nbest(dev).split("\n\n")[:-1]:
        head, *pairs = block.split("\n")
        number = head.split("\t")[1]
        for score, tree in zip(pairs[::2], pairs[1::2], strict=True):
            words = re.sub(r"\((?:DT|NN|VBZ|\.) ([^() ]+)\)", r"\1", tree)
            bare = words.removeprefix("(TOP ")[:-1].replace("sees", "UNK-LC-s")
            lines += [f"{number} ||| {score} ||| {bare}\n"] * 2
    return lines


def _line(tree: str) -> str:
    """Return the tree's words."""
    return " ".join(re.findall(r" ([^() ]+)\)", tree)) + " \n"
