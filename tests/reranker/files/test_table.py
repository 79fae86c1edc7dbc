import pytest

from reranker.files.table import aligned, delimited


def test_columns() -> None:
    rows = [("model", "x", "n"), ("a", "left", "10"), ("bb", "", "")]
    assert aligned(rows, left=2) == "model  x      n\na      left  10\nbb"
    assert aligned(rows) == "model     x   n\na      left  10\nbb"
    assert aligned([]) == ""


@pytest.mark.parametrize("cell", ["=1+1", "@SUM(A1)", "+cmd|x", "-2+3", "--", "-LRB-", "=\n1"])
def test_a_cell_that_a_spreadsheet_would_compute(cell: str) -> None:
    shown = cell.replace("\n", "\\n")
    assert delimited([[cell, 1]], with_commas=True) == f"'{shown},1\n"
    assert delimited([[cell, 1]]) == f"{shown}\t1\n"


@pytest.mark.parametrize("cell", ["-1.5", "+3", "-2e-05", "-", "=", "@", "a=b", ""])
def test_a_cell_that_is_none(cell: str) -> None:
    assert delimited([[cell, -1.5]], with_commas=True) == f"{cell},-1.5\n"
