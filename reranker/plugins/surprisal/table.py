"""Surprisals as text: rows with tabs between their columns, and JSON."""

from __future__ import annotations

import json
from typing import Any

from reranker.plugins.surprisal.surprisal import SentenceSurprisal, SurprisalReader


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


def heading(sentence: SentenceSurprisal, reader: SurprisalReader) -> str:
    """Return two lines: the settings that the numbers depend on, and the names of the columns."""
    facts = about(reader)
    models = ", ".join(facts["models"])
    said = f"# {facts['unit']}; models {models}; beam {facts['beam']}; "
    return f"{said}words {facts['unknown_words']}\n" + "\t".join(sentence.columns)


def tsv_rows(sentence: SentenceSurprisal) -> str:
    """Return a line for each word, with NA for an unknown measure."""
    return "\n".join(
        "\t".join(map(_cell, (row[name] for name in sentence.columns))) for row in sentence.rows()
    )


def json_line(sentence: SentenceSurprisal, reader: SurprisalReader) -> str:
    """Return the sentence, its place, its words, the tree of the whole and the settings that they
    depend on."""
    measures, origin = sentence.measures, sentence.source.origin
    scale = sentence.scale
    whole = {
        sentence.columns[7]: round(measures.surprisal * scale, 4) if measures else None,
        "end": round(measures.end * scale, 4) if measures else None,
        "tree": sentence.tree or None,
        "problem": sentence.problem,
    }
    place = {"sentence": sentence.number, "file": origin.file, "line": origin.line}
    words = [{n: v for n, v in row.items() if n != "sentence"} for row in sentence.rows()]
    content = {**place, "text": origin.text, **whole, **about(reader), "words": words}
    return json.dumps(content, ensure_ascii=False)


def _cell(value: Any) -> str:
    if value is None:
        return "NA"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
