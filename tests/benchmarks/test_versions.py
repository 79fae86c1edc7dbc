"""benchmarks/versions.py: two checkouts in turns."""

from __future__ import annotations

import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import versions
from benchmarks.versions import WORKER, Chosen, chosen, compared, prepared, row
from reranker.nbest import read_nbest

ROOT = Path(__file__).parents[2]
TREE, OTHER = "(S1 (S (NP (PRP It)) (VP (VBZ runs))))", "(S1 (NP (PRP It) (VBZ runs)))"


class Fixed:
    """A version that always takes as long and answers the same."""

    def __init__(self, seconds: list[float], tree: str, turns: list[str]) -> None:
        self.seconds, self.tree, self.turns = iter(seconds), tree, turns

    def ask(self, measure: str, first: int, end: int) -> tuple[float, list[str]]:
        self.turns.append(f"{self.tree == TREE} {first}-{end}")
        return next(self.seconds), [self.tree] * (end - first)


def test_each_round_has_a_ratio_and_the_first_warms_up() -> None:
    """Two sentences a round; ratios 0.5 and 0.25, whatever the machine did between."""
    turns: list[str] = []
    old, new = Fixed([9, 0.2, 0.4], OTHER, turns), Fixed([9, 0.1, 0.1], TREE, turns)
    places = [range(0, 2), range(2, 4), range(4, 6)]
    both: list[Any] = [old, new]
    found = compared(both[0], both[1], "first tree", [TREE] * 6, places)
    # Medians of 0.1 and 0.2 s a sentence, and of 0.05 and 0.05.
    assert found == ("first tree", "150 ms", "50 ms", "0.38", "0.00", "100.00", "6 of 6")
    assert turns == ["True 0-2", "False 0-2", "False 2-4", "True 2-4", "True 4-6", "False 4-6"]


def test_start_is_in_seconds() -> None:
    assert row("start", [(1, 0.5), (2, 1), (4, 2)], "s") == ("start", "2 s", "1 s", "0.50")


def test_sentences_are_spread_and_of_some_length(tmp_path: Path) -> None:
    lists = [each for each in read_nbest(ROOT / "examples/parses.txt") if each.candidates]
    gold = tmp_path / "gold.mrg"
    gold.write_text("".join(f"{each.candidates[0].text}\n" for each in lists), "utf-8")
    fitting = [each for each in lists if 15 <= len(each.words) <= 25]
    found = chosen(str(gold), str(ROOT / "examples/parses.txt"), 2)
    assert found.lists == [fitting[0], fitting[len(fitting) // 2]]


def test_a_worker_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With every version's Python; here it is this process."""
    lists = list(read_nbest(ROOT / "examples/parses.txt"))[:2]
    with prepared(ROOT / "ckpt", Chosen([TREE, OTHER], lists)) as folder:
        assert not (folder / "models/confidence.toml").exists()
        monkeypatch.setenv("RERANK_MODELS", str(folder / "models"))
        monkeypatch.setattr(sys, "argv", ["-c", str(folder)])
        asked = '["first tree", 0, 2]\n["lists of 50", 1, 2]\n'
        monkeypatch.setattr(sys, "stdin", io.StringIO(asked))
        runpy.run_path(str(WORKER))
    parsed, reranked = map(json.loads, capsys.readouterr().out.splitlines())
    assert [len(trees) for _, trees in (parsed, reranked)] == [2, 1]
    assert all(seconds > 0 for seconds, _ in (parsed, reranked))
    assert parsed[1][0].startswith("(TOP (") and "It" in parsed[1][0]
    assert reranked[1][0] in {each.text for each in lists[1].candidates}
    assert {*versions.MEASURES} >= {"first tree", "lists of 50"}
