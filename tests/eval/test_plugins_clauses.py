"""eval/plugins/clauses.py, worked by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.eval.scripts import module
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

script = module("plugins/clauses.py")

SAID = "(TOP (S (NP (PRP We)) (VP (VBD saw) (SBAR (S (NP (DT the) (NN man)) (VP (VBD saw)))))))"


def test_figures_by_hand() -> None:
    """Of three spans in gold and two in the other tree, one is in both: 2 · 1 / 5."""
    counts = Counter[str]()
    script.count(counts, [(0, 3), (0, 3), (1, 2)], [(0, 3), (2, 3)])
    assert script.f1(counts) == "40.00"
    # Two bins: one of 0.95, right, and two of mean 0.5 of which none is right.
    assert script.error([(0.95, True), (0.52, False), (0.58, False)]) == pytest.approx(
        (0.05 + 1.1) / 3
    )


def test_a_row(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.mrg", SAID)
    name, sentences, nodes, _, clauses, *_ = script.row(file, save_spans(tmp_path / "spans.pt", 3))
    assert (name, sentences, nodes, clauses) == (file, "1", "3", "2")
