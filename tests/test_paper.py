"""The paper's references are there and used, and its figures those of docs/research/results.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")


def test_every_reference_is_there_and_used() -> None:
    entries = re.findall(
        r"^@\w+\{([^,]+),$", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE
    )
    assert len(entries) == len(set(entries))
    assert set(entries) == set(re.findall(r"@([a-z]+-[\w-]+)", PAPER))


def test_figures_are_those_of_the_results() -> None:
    results = (ROOT / "docs" / "research" / "results.md").read_text(encoding="utf-8")
    figures = set(re.findall(r"\d\d\.\d\d", PAPER))
    assert len(figures) == 12
    assert figures <= set(re.findall(r"\d\d\.\d\d", results))
