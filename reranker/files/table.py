"""Tables as text for the terminal, in Markdown, and for pandas, which need not be installed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reranker.errors import needing

if TYPE_CHECKING:
    import pandas

_BREAK = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FORMULA = re.compile("[=+@-].", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?")


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
    """Return rows as lines with tabs or commas between their cells, quoted where necessary. Each
    row is one line. With commas, a cell that a spreadsheet would compute gets an apostrophe.

    >>> delimited([("word", "of"), ("a,b", None), ("=A1", -1)], with_commas=True)
    'word,of\\n"a,b",\\n\'=A1,-1\\n'
    """
    cells = ([_cell(cell, with_commas) for cell in row] for row in rows)
    text = io.StringIO()
    dialect = "excel" if with_commas else "excel-tab"
    csv.writer(text, dialect, lineterminator="\n").writerows(cells)
    return text.getvalue()


def one_line(text: str) -> str:
    r"""Return text for a cell: tabs and line breaks, which only the name of a file can have, would
    end the cell and are escaped.

    >>> print(one_line("a\tb"))
    a\tb
    """
    return _BREAK.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _cell(cell: object, with_commas: bool) -> object:
    if not isinstance(cell, str):
        return cell
    is_formula = with_commas and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return ("'" if is_formula else "") + one_line(cell)


def data_frame(
    rows: Iterable[Sequence[Any] | Mapping[str, Any]], columns: Iterable[str]
) -> pandas.DataFrame:
    """Return the rows as a table with these columns. Raises InputError without pandas."""
    with needing("a table needs pandas: pip install 'parse-reranker[pandas]'; to_dict does not"):
        import pandas
    return pandas.DataFrame(list(rows), columns=list(columns))
