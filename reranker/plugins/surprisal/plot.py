"""Bars by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reranker.plugins.surprisal.surprisal import SentenceSurprisal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW_INCHES = 2.0


def draw(figure: Figure, sentences: Sequence[SentenceSurprisal]) -> None:
    """Draw a row for each sentence, a bar for each word: its syntactic part, and the lexical one on
    top of it."""
    figure.set_figheight(max(1, len(sentences)) * _ROW_INCHES)
    for place, sentence in enumerate(sentences, 1):
        axes = figure.add_subplot(len(sentences), 1, place)
        rows = sentence.rows()
        places = range(len(rows))
        below = [row["syntactic"] for row in rows]
        axes.bar(places, below, label="syntactic")
        axes.bar(places, [row["lexical"] for row in rows], bottom=below, label="lexical")
        # A word is no formula, whatever dollar signs it has.
        words = [row["text"].replace("$", r"\$") for row in rows]
        axes.set_xticks(places, words, rotation=45 if len(rows) > 12 else 0, ha="center")
        axes.set_ylabel(f"surprisal ({sentence.unit})")
        if place == 1:
            axes.legend()
