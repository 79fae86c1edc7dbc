"""benchmarks/parsing.py: words as text, and the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.parsing import joined, measure
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


def test_figures_of_a_treebank() -> None:
    trees = [line + "\n" for line in (ROOT / "examples" / "short.mrg").read_text().splitlines()]
    lines = measure(trees, ParserChoice(), 1, Reranker([untrained(1)], threads=1)).splitlines()
    assert lines[0].startswith("4 sentences, ") and lines[0].endswith(" 0 not parsed")
    assert lines[1] == "split into the treebank's words: 4 of 4, 100.0%"
    assert [line.split()[0] for line in lines[2:] if not line.startswith(" ")] == [
        *("parser", "reranked", "oracle", "words", "parsing", "reranking", "together")
    ]
