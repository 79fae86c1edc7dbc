"""Tables for pandas, which need not be installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reranker.errors import needing

if TYPE_CHECKING:
    import pandas


def data_frame(
    rows: Iterable[Sequence[Any] | Mapping[str, Any]], columns: Iterable[str]
) -> pandas.DataFrame:
    """Return the rows as a table with these columns. Raises InputError without pandas."""
    with needing("a table needs pandas: pip install 'parse-reranker[pandas]'; to_dict does not"):
        import pandas
    return pandas.DataFrame(list(rows), columns=list(columns))
