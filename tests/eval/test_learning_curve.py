"""eval/tables/learning_curve.py: F1 by how many trees a parser has learned from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.eval.scripts import module
from tests.reranker.span_models import SPANS

learning_curve = module("tables/learning_curve.py")

TREES = [f"(TOP (S (NP (DT the) (NN w{n})) (VP (VBD ran))))" for n in range(8)]


def test_trees_are_taken_from_all_parts_of_the_file() -> None:
    assert learning_curve.evenly(["a", "b", "c", "d", "e", "f"], 3) == ["a", "c", "e"]
    assert learning_curve.evenly(["a", "b"], 3) == ["a", "b"]


@pytest.mark.slow  # trains and parses in eight processes
def test_a_parser_for_each_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there is not made again."""
    config, train, dev = (tmp_path / name for name in ("tiny.toml", "train.mrg", "dev.mrg"))
    config.write_text(SPANS)
    train.write_text("\n".join(TREES) + "\n")
    dev.write_text("( (S (NP-SBJ (DT the) (NN dog)) (VP (VBD ran) (NP (-NONE- *)))))\n")
    stage = ["--train", f"--config {config} --language id"]
    work, picture = tmp_path / "work", tmp_path / "curve.svg"
    flags = [*map(str, (train, dev)), *stage, "--work", str(work)]
    assert learning_curve.main([*flags, "--sizes", "4"]) == 0
    capsys.readouterr()
    made = (work / "4" / "stage-1.pt").stat().st_mtime_ns
    assert learning_curve.main([*flags, "--sizes", "4", "8", "--plot", str(picture)]) == 0
    assert (work / "4" / "stage-1.pt").stat().st_mtime_ns == made
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| trees | F1 | tags |"
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["4", "8"]
    assert len((work / "8" / "train.mrg").read_text().splitlines()) == 8
    assert (work / "dev.words").read_text() == "the dog ran\n"
    assert "<svg" in picture.read_text()


def test_a_training_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text(TREES[0] + "\n")
    flags = ["--sizes", "1", "--work", str(tmp_path), "--train", "--config none.toml"]
    assert learning_curve.main([str(trees), str(trees), *flags]) == 2
    assert "none.toml" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["dev.mrg", "dev.words", "1/train.mrg", "1/stage-1.pt"])
def test_files_of_someone_else_stay(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trees, place = tmp_path / "trees.mrg", tmp_path / "work" / name
    trees.write_text(TREES[0] + "\n")
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    flags = ["--sizes", "1", "--work", str(tmp_path / "work"), "--train", "--config none.toml"]
    assert learning_curve.main([str(trees), str(trees), *flags]) == 2
    assert f"{tmp_path}/work" in capfd.readouterr().err
    assert place.read_text() == "mine"
