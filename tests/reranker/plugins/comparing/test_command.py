"""``rerank compare``, against cases counted by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reranker.commands.main import main

GOLD = "(TOP (S (NP (A a)) (VP (B b) (NP (C c)))))"  # brackets S, NP, VP, NP
SAME = GOLD.replace("TOP", "S1")
LESS = "(S1 (S (NP (A a)) (VP (B b) (C c))))"  # 3 of its 3 match: F1 6/7 = 85.71


def files(folder: Path) -> tuple[str, str, str]:
    gold, first, ranked = folder / "gold.mrg", folder / "first.txt", folder / "ranked.jsonl"
    gold.write_text(f"{GOLD}\n" * 4)
    first.write_text(f"{LESS}\n" * 4)
    lines: list[object] = [{"ranking": [{"tree": SAME}, {"tree": LESS}]}] * 3
    lines.append({"ranking": [], "fallback": LESS})
    ranked.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(gold), str(first), str(ranked)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, first, ranked = files(tmp_path)
    assert main(["compare", gold, first, ranked, first]) == 0
    head, base, better, same, settings = capsys.readouterr().out.splitlines()
    columns = ["F1", "difference", "95% interval", "bootstrap p", "randomisation p"]
    assert re.split("  +", head.strip()) == columns
    assert base.split() == [first, "85.71"]
    # 3 * 4 + 3 = 15 matched of 16 gold and 15 test brackets: 30/31. Of the 8 ways to swap three
    # sentences, 2 differ as much: p = 1/4.
    name, f1, difference, *_, p = better.split()
    assert (name, f1, difference) == (ranked, "96.77", "+11.06")
    assert float(p) == pytest.approx(0.25, abs=0.015)
    cells = [first, "85.71", "+0.00", "+0.00 to +0.00", "1.0000", "1.0000"]
    assert re.split("  +", same) == cells
    assert settings == "sentences=4 samples=10000 seed=12345 evalb=COLLINS tags=parser"

    assert main(["compare", gold, first, ranked, "--json", "--samples", "99", "--seed", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["first"] == {"file": first, "f1": pytest.approx(600 / 7)}
    assert answer["others"][0]["difference"] == pytest.approx(3000 / 31 - 600 / 7)
    assert (answer["samples"], answer["seed"]) == (99, 2)


def test_eval_scores_the_best_trees_of_ranked_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, _, ranked = files(tmp_path)
    assert main(["eval", gold, ranked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["all"]["f1"] == pytest.approx(3000 / 31, abs=0.01)


def test_gold_tags_make_punctuation_comparable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, test = tmp_path / "gold.mrg", tmp_path / "test.txt"
    gold.write_text("(TOP (S (NP (A a)) (. .)))\n")
    test.write_text("(S1 (S (NP (A a)) (X .)))\n")  # the gold tree leaves the full stop out
    names = [str(gold), str(test), str(test)]
    assert main(["compare", *names]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split()[1] == "0.00"
    assert "test.txt:1: error: 1 gold words, 2 test words: one is punctuation" in printed.err
    assert main(["compare", *names, "--gold-tags"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[1] == "100.00"


def test_files_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, first, _ = files(tmp_path)
    other = tmp_path / "other"
    for content, reason in (
        (f"{LESS}\n", "has 4 sentences but"),
        ('{"ranking": 3}\n', "other:1: not a sentence of"),
    ):
        other.write_text(content)
        assert main(["compare", gold, first, str(other)]) == 2
        assert reason in capsys.readouterr().err
    assert main(["compare", gold, "-", "-"]) == 2
    (tmp_path / "empty").write_text("")
    assert main(["compare", str(tmp_path / "empty"), first, first]) == 2
