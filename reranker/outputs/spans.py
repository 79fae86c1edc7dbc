"""Trees as plain data: words and constituents, with the characters they cover."""

from __future__ import annotations

import json
from typing import Any

from reranker.outputs.output import Output
from reranker.ranking import SCORE_DECIMALS, Ranking
from reranker.ranking.sentence import ParsedSentence

VERSION = 1
"""The version, increased when a field changes its meaning or is removed."""


class Json(Output):
    """The best tree with its words and constituents, as JSON."""

    suffix = ".jsonl"

    def line(self, ranking: Ranking, number: int) -> str:
        sentence = to_dict(ranking.parsed_sentence())
        return json.dumps(sentence, ensure_ascii=False, allow_nan=False)


def to_dict(sentence: ParsedSentence) -> dict[str, Any]:
    """Return plain data for JSON; docs/sentence.schema.json describes every field."""
    words, certainty = sentence.words, sentence.certainty
    origin = sentence.origin
    speaker = {"speaker": origin.speaker} if origin and origin.speaker else {}
    return {
        "version": VERSION,
        "id": sentence.id,
        "file": origin.file if origin else None,
        "line": origin.line if origin else None,
        **speaker,
        "text": sentence.text,
        "score": sentence.score,
        "tree": sentence.tree.to_string() if sentence.tree else None,
        "words": [
            {"text": word.form, "leaf": word.leaf, "tag": word.tag}
            | {"start": word.start, "end": word.end}
            for word in words
        ],
        "constituents": constituents(sentence),
        "confidence": sentence.confidence,
        "better_than_first": sentence.better_than_first,
        "entropy": None if certainty is None else round(certainty.entropy, SCORE_DECIMALS),
    }


def constituents(sentence: ParsedSentence) -> list[dict[str, Any]]:
    """Return the constituents as plain data, parents before children, left to right;
    docs/sentence.schema.json describes each as ``Constituent``."""
    return [
        {
            "label": each.label,
            "parent": each.parent,
            "words": [each.start, each.end],
            "start": each.offsets[0] if each.offsets else None,
            "end": each.offsets[1] if each.offsets else None,
            "probability": each.probability,
        }
        for each in sentence.constituents
    ]
