"""Tables as text for the terminal, in Markdown, and for pandas, which need not be installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reranker.errors import needing

if TYPE_CHECKING:
    import pandas


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of equal length as lines of columns, two spaces apart: the first ``left`` columns
    flush left, the others flush right. No spaces at line ends.

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


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def delimited(rows: Iterable[Iterable[object]], *, with_commas: bool = False) -> str:
    """Return rows as lines with tabs or commas between their cells, quoted where necessary.

    >>> delimited([("word", "of"), ("a,b", None)], with_commas=True)
    'word,of\\n"a,b",\\n'
    """
    text = io.StringIO()
    dialect = "excel" if with_commas else "excel-tab"
    csv.writer(text, dialect, lineterminator="\n").writerows(rows)
    return text.getvalue()


def data_frame(
    rows: Iterable[Sequence[Any] | Mapping[str, Any]], columns: Iterable[str]
) -> pandas.DataFrame:
    """Return the rows as a table with these columns. Raises InputError without pandas."""
    with needing("a table needs pandas: pip install 'parse-reranker[pandas]'; to_dict does not"):
        import pandas
    return pandas.DataFrame(list(rows), columns=list(columns))
