"""The rankings of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.files.table import data_frame
from reranker.ranking.ranking import Ranking
from reranker.ranking.sentence import Constituent

if TYPE_CHECKING:
    import pandas


class Rankings(list[Ranking]):
    """The rankings of a text, one for each sentence."""

    def __repr__(self) -> str:
        return f"<Rankings of {len(self)} sentences>"

    def to_pandas(self) -> pandas.DataFrame:
        """Return the constituents of the best trees, one per row, with the ``id`` of their ranking
        as ``sentence``. Raises InputError without pandas, TreeError as ``Ranked.constituents``
        does."""
        rows = (
            (
                ranking.id,
                *constituent,
                constituent.start_char,
                constituent.end_char,
                ranking.origin.speaker if ranking.origin else None,
            )
            for ranking in self
            for constituent in (ranking.best.constituents if ranking.best else ())
        )
        columns = ("sentence", *Constituent._fields, "start_char", "end_char", "speaker")
        return data_frame(rows, columns)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: each sentence, one below another."""
        return "".join(ranking._repr_html_() for ranking in self)
