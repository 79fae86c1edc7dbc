"""benchmarks/parsing.py: words as text, and the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.parsing import joined, measure
from reranker.parsers.parser import ParserSettings
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
    pytest.importorskip(
        "bllipparser", reason="bllipparser is not installed: pip install 'parse-reranker[bllip]'"
    )
    trees = [line + "\n" for line in (ROOT / "examples" / "short.mrg").read_text().splitlines()]
    reranker = Reranker([untrained(1)], threads=1)
    figures = [measure(trees, ParserSettings(seconds=120), 1, reranker, tmp_path, of=3)]
    lines, kept = figures[0].splitlines(), sorted(tmp_path.iterdir())
    assert lines[0].startswith("4 sentences, ") and lines[0].endswith(" 0 not parsed")
    assert lines[1] == "split into the treebank's words: 4 of 4, 100.0 %"
    assert [line.split()[0] for line in lines[2:] if not line.startswith(" ")] == [
        *("parser", "reranked", "oracle", "words", "parsing", "reranking", "together")
    ]
    assert [file.suffix for file in kept].count(".jsonl") == 2  # of 3 sentences and of 1

    figures.append(measure(trees, ParserSettings(seconds=120), 1, reranker, tmp_path, of=3))
    assert figures[1] == figures[0]  # seconds, too

    kept[0].with_suffix(".json").unlink()
    figures.append(measure(trees, ParserSettings(seconds=120), 1, reranker, tmp_path, of=3))
    assert figures[2].splitlines()[:6] == lines[:6]  # up to the oracle
    assert figures[2] != figures[0] and sorted(tmp_path.iterdir()) == kept
