from __future__ import annotations

import json
from pathlib import Path

import pytest

from reranker.cli import main

GOLD = "(TOP (S (NP (A a)) (VP (B b) (NP (C c)))))"  # brackets S, NP, VP, NP
WORSE = "(S1 (S (NP (A a)) (VP (B b) (C c))))"  # matches 3 of its 3, gold 4
WORST = "(S1 (X (A a) (B b) (C c)))"  # matches 0 of its 1
BEST = "(S1 (S (NP (A a)) (VP (B b) (NP (C c)))))"


def entry(index: int, tree: str, nll: float, parser: float | None) -> dict[str, object]:
    return {"index": index, "tree": tree, "nll": nll, "parser_score": parser, "duplicate_of": None}


def ranked(*sentences: list[dict[str, object]]) -> str:
    return "".join(json.dumps({"ranking": sentence}) + "\n" for sentence in sentences)


def test_table_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # LM and parser disagree; the best tree wins with W between 0.4 and 0.6 only:
    # W * -nll + (1 - W) * parser: BEST -10W - 10(1-W) = -10, WORSE -25W, WORST -20(1-W) - 2W
    sentence = [
        entry(0, WORSE, 25.0, 0.0),
        entry(1, BEST, 10.0, -10.0),
        entry(2, WORST, 2.0, -20.0),
    ]
    file, gold = tmp_path / "r.jsonl", tmp_path / "gold.mrg"
    file.write_text(ranked(sentence, sentence))
    gold.write_text(f"{GOLD}\n{GOLD}\n")
    assert main(["tune", str(file), str(gold), "--gold-tags"]) == 0
    *rows, _, last = capsys.readouterr().out.splitlines()
    table = {line[:10].strip(): line[10:].split() for line in rows}
    # F1 = 2 * 3 / (4 + 3) = 85.71 for WORSE, 0 for WORST
    assert table["parser"] == ["85.71"] * 3
    assert table["oracle"] == ["100.00"] * 3
    assert table["W = 0.00"] == ["85.71"] * 3
    assert table["W = 0.40"] == ["85.71"] * 3  # a tie at -10 keeps the parser's order
    assert table["W = 0.45"] == table["W = 0.55"] == ["100.00"] * 3
    assert table["W = 0.60"] == ["0.00"] * 3
    assert table["W = 1.00"] == ["0.00"] * 3
    assert last == "best of the first half: W = 0.55, on the second 100.00"


def test_without_parser_scores_only_the_models_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, gold = tmp_path / "r.jsonl", tmp_path / "gold.mrg"
    file.write_text(ranked([entry(0, WORSE, 3.0, None), entry(1, BEST, 2.0, None)]))
    gold.write_text(GOLD + "\n")
    assert main(["tune", str(file), str(gold)]) == 0
    printed = capsys.readouterr().out
    assert "W = 1.00" in printed and "W = 0.95" not in printed


def test_files_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, gold = tmp_path / "r.jsonl", tmp_path / "gold.mrg"
    gold.write_text(GOLD + "\n")
    sentence = [entry(0, BEST, 2.0, -1.0)]
    for content, reason in (
        (ranked(sentence, sentence), "more ranked sentences"),
        ("", "more gold trees"),
        ("(S (A a))\n", "line 1 is not a sentence"),
    ):
        file.write_text(content)
        assert main(["tune", str(file), str(gold)]) == 2
        assert reason in capsys.readouterr().err
