"""Brackets as a table: one bracket per row, in columns for a spreadsheet.

The columns have the names and the values that ``Rankings.to_pandas`` gives them, except that
``sentence`` is the sentence's number, from 1. A sentence without brackets is one row without a
label. White space in the text, a line break too, is one space.
"""

from __future__ import annotations

from reranker.files.table import delimited
from reranker.outputs.output import Output
from reranker.ranking import Ranking
from reranker.ranking.sentence import ParsedSentence

COLUMNS = (
    "sentence",
    "label",
    "start",
    "end",
    "probability",
    "start_char",
    "end_char",
    "text",
    "speaker",
)


class Brackets(Output):
    """A table of the best tree's brackets."""

    needs_probabilities = True
    suffix = ".tsv"

    def __init__(self, *, has_commas: bool = False) -> None:
        self._has_commas = has_commas

    def with_commas(self) -> Brackets:
        return Brackets(has_commas=True)

    def begin(self) -> str:
        """Return the names of the columns."""
        return delimited([COLUMNS], with_commas=self._has_commas)

    def line(self, ranking: Ranking, number: int) -> str:
        """Return the rows of a sentence."""
        return self.rows(ranking.parsed_sentence(), number)

    def rows(self, sentence: ParsedSentence, number: int) -> str:
        """Return the rows of a sentence that is aligned with its text."""
        rows: list[tuple[object, ...]] = []
        speaker = sentence.origin.speaker if sentence.origin else None
        for each in sentence.constituents:
            place = (each.label, each.start, each.end, each.probability)
            rows.append(
                (number, *place, each.start_char, each.end_char, _one_line(each.text), speaker)
            )
        if not sentence.constituents:
            rows.append((number, *[None] * 6, _one_line(sentence.text), speaker))
        return delimited(rows, with_commas=self._has_commas).removesuffix("\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
