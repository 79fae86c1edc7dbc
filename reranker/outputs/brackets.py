"""Brackets as a table: a bracket a row, in columns for a spreadsheet.

The columns have the names and the values that ``Rankings.to_pandas`` gives them, except that
``sentence`` is the sentence's number, from 1. A sentence without brackets is one row without a
label. White space in the text, a line break too, is one space.
"""

from __future__ import annotations

from reranker.files.table import delimited
from reranker.ranking.sentence import ParsedSentence

COLUMNS = ("sentence", "label", "start", "end", "probability", "start_char", "end_char", "text")


def table(sentence: ParsedSentence, number: int, *, is_csv: bool = False) -> str:
    """Return the lines of a sentence, without the last line break; above those of the first
    sentence, the names of the columns."""
    rows: list[tuple[object, ...]] = [COLUMNS] if number == 1 else []
    for each in sentence.constituents:
        place = (each.label, each.start, each.end, each.probability)
        rows.append((number, *place, each.start_char, each.end_char, _one_line(each.text)))
    if not sentence.constituents:
        rows.append((number, *[None] * 6, _one_line(sentence.text)))
    return delimited(rows, with_commas=is_csv).removesuffix("\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
