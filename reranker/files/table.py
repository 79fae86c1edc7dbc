"""Tables of text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows of equal length as lines of columns, two spaces apart: the first ``left`` columns flush
    left, the others flush right. No spaces at line ends.

    >>> print(aligned([("model", "F1"), ("parser", "9.5"), ("ours", "10.0")]))
    model     F1
    parser   9.5
    ours    10.0
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
