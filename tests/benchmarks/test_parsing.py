"""benchmarks/parsing.py: words as text, and the report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.parsing import cut, joined, measure, parsed
from reranker.parsers.choice import ParserChoice
from reranker.pipeline import Reranker
from tests.reranker.ensembles import untrained

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "words, text",
    [
        ("It did n't , he said .", "It didn't, he said."),
        ('" A well - known man ( him ) , " he said .', '"A well-known man (him)," he said.'),
        (
            "-LRB- the cats \u2019 5 % -RRB- : \u201c and / or \u201d",
            "(the cats\u2019 5%): \u201cand/or\u201d",
        ),
        ("Why ? ! -- I \u2019m $ 5 here \u2026", "Why?! -- I\u2019m $5 here\u2026"),
    ],
)
def test_words_joined_as_people_write_them(words: str, text: str) -> None:
    assert joined(words.split()) == text


def test_figures_of_a_treebank_go_on_from_what_is_kept(tmp_path: Path) -> None:
    trees = [line + "\n" for line in (ROOT / "examples" / "short.mrg").read_text().splitlines()]
    reranker = Reranker([untrained(1)], threads=1)
    choice = ParserChoice()

    def figures_with(models: Reranker) -> str:
        return measure(trees, choice, 1, models, tmp_path, of=3)

    for piece in cut(trees, of=3):  # first only parsed
        parsed(piece, choice, 1, tmp_path)
    lists = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.jsonl")}
    assert len(lists) == 2  # of 3 sentences and of 1
    first = figures_with(reranker)
    lines = first.splitlines()
    assert lines[0].startswith("4 sentences, ") and lines[0].endswith(" 0 not parsed")
    assert lines[1] == "split into the treebank's words: 4 of 4, 100.0 %"
    assert [line.split()[0] for line in lines[2:] if not line.startswith(" ")] == [
        *("parser", "reranked", "oracle", "words", "parsing", "reranking", "together")
    ]
    assert figures_with(reranker) == first  # seconds, too

    other = figures_with(Reranker([untrained(2)], threads=1)).splitlines()
    rows = [line.split() for line in other]
    before = [line.split() for line in lines]
    assert rows[3] == before[3] and rows[5] == before[5]  # parser and oracle: the same lists
    assert other[7:9] == lines[7:9]  # what words and parsing cost
    assert figures_with(reranker) == first
    assert lists == {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.jsonl")}


def test_parsing_alone_keeps_its_lists_somewhere() -> None:
    program = [sys.executable, "-m", "benchmarks.parsing", "examples/short.mrg", "--parse-only"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.endswith("--parse-only needs --keep\n")
