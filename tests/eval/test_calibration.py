"""The script of bracket calibration: its figures by hand, and a run on a few trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.eval.scripts import module, run
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

calibration = module("calibration.py")


def test_the_error_by_hand() -> None:
    """In the bin of 0.9 and 0.95, the mean is 0.925 and one of two is right: 0.425; in that of 0.2,
    none of one: 0.2. Weighted, (2 x 0.425 + 0.2) / 3."""
    predicted, right = np.array([0.9, 0.95, 0.2]), np.array([True, False, False])
    assert calibration.error(predicted, right) == pytest.approx((2 * 0.425 + 0.2) / 3)
    assert calibration.error(np.array([1.0, 0.0]), np.array([True, False])) == 0


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    gold = write(tmp_path / "g.mrg", "(S1 (S (NP (PRP We)) (VP (VBD saw) (NP (PRP it)))))\n" * 3)
    model, picture = save_spans(tmp_path / "spans.pt", 3), tmp_path / "p.png"
    flags = ["--limit", "2", "--parser-model", model, "--picture", str(picture)]
    heads, row = run("calibration.py", f"toy={gold}", *flags).stdout.splitlines()
    assert heads.split()[:3] == ["treebank", "sentences", "brackets"]
    assert row.split()[:2] == ["toy", "2"]
    assert picture.read_bytes().startswith(b"\x89PNG")
