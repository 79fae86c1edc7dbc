"""Surprisals as text: rows with tabs between their columns, and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from reranker.files.table import delimited
from reranker.outputs.form import Form
from reranker.plugins.surprisal.surprisal import COLUMNS, SentenceSurprisal, SurprisalReader


def about(reader: SurprisalReader) -> dict[str, Any]:
    """Return the settings that the numbers depend on."""
    members = reader.models.members
    return {
        "models": [f"{member.name} {member.sha256[:8]}" for member in members],
        "beam": reader.width.words,
        "unit": reader.unit,
        "unknown_words": f"outside {len(reader.models.vocabulary):,} symbols: P(class) x P(letters "
        "of the word | class)",
    }


class Table(Form[SentenceSurprisal]):
    """A row for each word."""

    def __init__(
        self,
        reader: SurprisalReader,
        columns: Sequence[str] = COLUMNS,
        *,
        has_commas: bool = False,
    ) -> None:
        self._reader, self._columns, self._has_commas = reader, columns, has_commas

    def begin(self) -> str:
        """Return the names of the columns. Above these, a line has the settings that the numbers
        depend on, except in a table with commas, whose first line spreadsheets take for names."""
        names = delimited([self._columns], with_commas=self._has_commas)
        if self._has_commas:
            return names
        facts = about(self._reader)
        models = ", ".join(facts["models"])
        settings = f"# {facts['unit']}; models {models}; beam {facts['beam']}; "
        return f"{settings}words {facts['unknown_words']}\n{names}"

    def line(self, answer: SentenceSurprisal, number: int) -> str:
        """Return a line for each word, with NA for an unknown measure."""
        rows = ([_cell(row[name]) for name in self._columns] for row in answer.rows())
        return delimited(rows, with_commas=self._has_commas).removesuffix("\n")


class JsonLines(Form[SentenceSurprisal]):
    """An object for each sentence."""

    def __init__(self, reader: SurprisalReader) -> None:
        self._about = about(reader)

    def line(self, answer: SentenceSurprisal, number: int) -> str:
        """Return the sentence, its place, its words, the tree of the whole and the settings that
        they depend on."""
        measures, origin, scale = answer.measures, answer.source.origin, answer.scale
        whole = {
            answer.columns[7]: round(measures.surprisal * scale, 4) if measures else None,
            "end": round(measures.end * scale, 4) if measures else None,
            "tree": answer.tree or None,
            "problem": answer.problem,
        }
        place = {"sentence": answer.number, "file": origin.file, "line": origin.line}
        words = [{n: v for n, v in row.items() if n != "sentence"} for row in answer.rows()]
        content = {**place, "text": origin.text, **whole, **self._about, "words": words}
        return json.dumps(content, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None:
        return "NA"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
