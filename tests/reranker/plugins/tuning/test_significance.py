"""Significance of F1 differences, against cases counted by hand and by enumeration."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reranker.commands.main import main
from reranker.evaluation.brackets import corpus_f1
from reranker.plugins.tuning.significance import bootstrap_differences, compare, randomisation_p

GOLD = "(TOP (S (NP (A a)) (VP (B b) (NP (C c)))))"  # brackets S, NP, VP, NP
SAME = GOLD.replace("TOP", "S1")
LESS = "(S1 (S (NP (A a)) (VP (B b) (C c))))"  # 3 of its 3 match: F1 6/7 = 85.71


def rows(*counts: tuple[int, int, int]) -> NDArray[np.int64]:
    return np.array(counts)


def test_two_sentences_that_both_improve_can_be_chance() -> None:
    # Matched, gold, test brackets. Of the 4 ways to swap, none and both give the difference
    # observed, the other two none at all: p = 2/4.
    first, second = rows((1, 4, 4), (1, 4, 4)), rows((3, 4, 4), (3, 4, 4))
    result = compare(first, second)
    assert result.f1 == 75.0 and result.difference == 50.0
    assert result.randomisation_p == pytest.approx(0.5, abs=0.02)
    # Every bootstrap sample differs by 50 as well: nothing is as far from their mean as 0 is.
    assert (result.low, result.high) == (50.0, 50.0)
    assert result.bootstrap_p == 1 / 10_001  # never 0


def test_randomisation_agrees_with_all_ways_to_swap() -> None:
    random = np.random.default_rng(3)
    gold = random.integers(5, 30, 10)
    systems = []
    for _ in range(2):
        test = random.integers(5, 30, 10)
        systems.append(np.stack([random.integers(0, np.minimum(gold, test)), gold, test], axis=1))
    first, second = systems
    observed = abs(corpus_f1(second) - corpus_f1(first))
    ways = list(itertools.product([False, True], repeat=10))
    extreme = 0
    for way in ways:
        swap = np.array(way)[:, None]
        one, other = np.where(swap, second, first), np.where(swap, first, second)
        extreme += abs(corpus_f1(other) - corpus_f1(one)) >= observed - 1e-9
    exact = extreme / len(ways)
    assert 0.05 < exact < 0.95, "an easy case would prove little"
    # Three standard errors of a share found with 10,000 samples are at most 0.015.
    assert randomisation_p(first, second) == pytest.approx(exact, abs=0.015)
    assert randomisation_p(first, second) == randomisation_p(first, second)  # seeded


def test_bootstrap_agrees_with_all_samples() -> None:
    # Two sentences, drawn twice: both, or one of them twice with probability 1/4 each.
    first, second = rows((1, 2, 2), (4, 4, 4)), rows((2, 2, 2), (3, 4, 4))
    expected = {
        -25.0: 0.25,  # the second twice: 75 against 100
        0.0: 0.5,  # one of each: 5 of 6 against 5 of 6
        50.0: 0.25,  # the first twice: 100 against 50
    }
    drawn = bootstrap_differences(first, second, 20_000, 7).round(6)
    found, times = np.unique(drawn, return_counts=True)
    assert dict(zip(found.tolist(), (times / 20_000).tolist(), strict=True)) == {
        difference: pytest.approx(share, abs=0.011) for difference, share in expected.items()
    }


def test_a_system_does_not_differ_from_itself() -> None:
    counts = rows((1, 4, 3), (2, 3, 3), (0, 0, 0))
    result = compare(counts, counts)
    assert result.difference == result.low == result.high == 0
    assert result.bootstrap_p == result.randomisation_p == 1


def test_order_decides_the_sign_only() -> None:
    first, second = rows((1, 4, 4), (2, 5, 4), (3, 3, 3)), rows((3, 4, 4), (1, 5, 4), (2, 3, 3))
    one, other = compare(first, second), compare(second, first)
    assert one.difference == -other.difference
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.bootstrap_p == other.bootstrap_p
    assert one.randomisation_p == other.randomisation_p


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
    columns = ["F1", "difference", "95 % interval", "bootstrap p", "randomisation p"]
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
    assert "test.txt:1: error: 1 gold words, 2 test words" in printed.err
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
