"""eval/plugins/selection.py: models learn from the first trees and those that were chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.eval.scripts import module
from tests.reranker.span_models import SPANS, save_spans

script = module("plugins/selection.py")

TREES = [f"(TOP (S (NP (DT w{n}) (NN x{n})) (VP (VBD y{n}))))" for n in "abcdefg"]


def test_a_simulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 2 + 5 trees, two random ones have six words, as have the two least sure. What is in the
    folder is not made again, so that no model is trained."""
    train, work = tmp_path / "t.mrg", tmp_path / "work"
    train.write_text("\n".join(TREES) + "\n")
    work.mkdir()
    (work / ".selection").touch()
    words = [f"w{n} x{n} y{n}" for n in "pqrst"]
    # The last two of the pool are the least sure.
    known = [["", number, number / 10, text, "", ""] for number, text in enumerate(words)]
    (work / "4-entropies.json").write_text(json.dumps(known))
    for name, f1 in (("start", "20"), ("random-2", "50")):
        (work / f"4-{name}.f1").write_text(f1)
    save_spans(work / "4-select-2.pt", 3)
    sizes = ["--start", "2", "--pool", "5", "--chosen", "2", "--seeds", "4"]
    picture = tmp_path / "curve.svg"
    files = [str(train), str(train), "--work", str(work), "--picture", str(picture)]
    assert script.main([*files, *sizes]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[:4] == [
        ["seed", "random_trees", "way", "trees", "words", "f1"],
        ["4", "0", "0", "0", "20.0"],
        ["4", "2", "random", "2", "6", "50.0"],
        ["4", "2", "select", "2", "6", rows[3][-1]],
    ]
    found = float(rows[3][-1])
    assert rows[5] == ["2", "50.00", f"{found:.2f}", f"{found - 50:.2f}"]
    shuffled = [*TREES]
    script.random.Random(4).shuffle(shuffled)
    learned = (work / "4-select-2.mrg").read_text().splitlines()
    assert learned == [*shuffled[:2], shuffled[6], shuffled[5]]
    assert "<svg" in picture.read_text()


@pytest.mark.slow  # trains three models
def test_models_are_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, config = tmp_path / "t.mrg", tmp_path / "tiny.toml"
    train.write_text("\n".join(TREES) + "\n")
    config.write_text(SPANS)
    sizes = ["--start", "2", "--pool", "5", "--chosen", "2", "--seeds", "4"]
    files = [str(train), str(train), "--work", str(tmp_path / "work"), "--config", str(config)]
    assert script.main([*files, *sizes]) == 0
    assert capsys.readouterr().out.count("select") == 2  # a row and the heading of the means


def test_means_and_the_deviation_of_differences() -> None:
    rows = [
        script.Row(seed, 200, way, 1, 1, f1)
        for seed, one, other in ((1, 60.0, 61.0), (2, 62.0, 65.0))
        for way, f1 in (("random", one), ("select", other))
    ]
    # Differences of 1 and 3: the mean is 2, the deviation the square root of 2.
    assert [*script.summary(rows)] == [("200", "61.00", "63.00", "2.00", "1.41")]


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="2"):
        script.main(["t", "d", "--work", str(tmp_path)])
