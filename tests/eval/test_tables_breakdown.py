"""eval/tables/breakdown.py: F1 by length and by genre."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.eval.scripts import module
from tests.reranker.plugins.tuning.tuned_lists import BEST, GOLD, WORST, entry

breakdown = module("tables/breakdown.py")

Capture = pytest.CaptureFixture[str]
LONG = f"(S {' '.join(['(NP (NN x))'] * 45)})"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Write twenty sentences, of which reranking corrects every other one, and one of 45 words."""
    sentences = []
    for number in range(20):
        both = [entry(0, WORST, 5.0, None, 1.0), entry(1, BEST, 6.0, None, 2.0)]
        sentences.append(both[::-1] if number % 2 else both)  # whatever the scores say
    sentences.append([entry(0, LONG, 1.0, None, 1.0)])
    rows = [{"ranking": each, "rejected": [], "best_index": each[0]["index"]} for each in sentences]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "dev.mrg").write_text(f"{GOLD}\n" * 20 + f"{LONG}\n")
    (tmp_path / "genres.txt").write_text("".join(f"{each}\n" for each in "ab" * 10 + "c"))
    return tmp_path / "dev.jsonl", tmp_path / "dev.mrg", tmp_path / "genres.txt"


def test_by_length_and_genre(files: tuple[Path, ...], capsys: Capture) -> None:
    assert breakdown.main([f"dev={','.join(map(str, files))}"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "dev:"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in out[4:] if line]
    found = {name: rest for name, *rest in cells}
    assert list(found) == ["all", "1 to 10 words", "over 40 words", "a", "b", "c"]
    assert found["a"] == ["10", "0.00", "0.00", "+0.00", "1.000"]
    assert found["b"][:4] == ["10", "0.00", "100.00", "+100.00"] and float(found["b"][4]) < 0.01
    assert found["c"] == found["over 40 words"] == ["1", "100.00", "100.00", "+0.00", "1.000"]
    assert found["all"][0] == "21"


def test_what_makes_no_table(files: tuple[Path, ...], capsys: Capture) -> None:
    ranked_file, gold, genres = files
    genres.write_text("a\n")
    fewer = gold.with_name("fewer.jsonl")
    fewer.write_text("".join(ranked_file.read_text().splitlines(keepends=True)[:-1]))
    for text, reason in (
        ("few", "few: a set is NAME=RANKED,GOLD[,GENRES]"),
        ("x=none.jsonl,none.mrg", "none.mrg"),
        (f"x={ranked_file},{gold},{genres}", "1 genres for 21 trees"),
        (f"x={fewer},{gold}", "20 sentences, 0 of them without a tree, and 21 gold trees"),
    ):
        assert breakdown.main([text]) == 2
        assert reason in capsys.readouterr().err
