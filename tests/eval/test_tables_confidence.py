"""eval/tables/confidence.py: a fit to one set judged on another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.eval.toy_study import module
from tests.reranker.tuned_lists import GOLD, sure_and_unsure

confidence = module("confidence")

Capture = pytest.CaptureFixture[str]


def written(folder: Path, name: str, ranked: str) -> str:
    file, gold = folder / f"{name}.jsonl", folder / f"{name}.mrg"
    file.write_text(ranked)
    gold.write_text(f"{GOLD}\n" * ranked.count("\n"))
    return f"{name}={file},{gold}"


def test_two_sets(tmp_path: Path, capsys: Capture) -> None:
    right = written(tmp_path, "right", sure_and_unsure(30))
    # In the other set the trees that the models are sure of are the worse ones.
    text = sure_and_unsure(40)
    swapped = text.replace("(S (NP (A a)) (VP (B b) (NP (C c))))", "(S (X (A a) (B b) (C c)))")
    wrong = written(tmp_path, "wrong", swapped.replace("(S1 (X (A a) (B b) (C c)))", GOLD))
    assert confidence.main([right, wrong]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[:4] for row in cells] == [
        ["right", "right", "60", "0.500"],
        ["wrong", "right", "60", "0.500"],
        ["right", "wrong", "80", "0.500"],
        ["wrong", "wrong", "80", "0.500"],
    ]
    own, false, also_false, also_own = (float(row[7]) for row in cells)  # Brier
    assert max(own, also_own) < 0.05 and min(false, also_false) > 0.8


def test_what_is_no_set(tmp_path: Path, capsys: Capture) -> None:
    few = written(tmp_path, "few", sure_and_unsure(2))
    for text, reason in (
        ("few", "few: a set is NAME=RANKED,GOLD"),
        (few, "few: too few best trees"),
        (f"x={tmp_path / 'none'},{tmp_path / 'none'}", "none: cannot be read"),
    ):
        assert confidence.main([text]) == 2
        assert reason in capsys.readouterr().err
