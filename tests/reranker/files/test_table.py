from reranker.files.table import aligned


def test_columns() -> None:
    rows = [("model", "x", "n"), ("a", "left", "10"), ("bb", "", "")]
    assert aligned(rows, left=2) == "model  x      n\na      left  10\nbb"
    assert aligned(rows) == "model     x   n\na      left  10\nbb"
    assert aligned([]) == ""
