"""A tree as plain data: its words and constituents, with the characters they cover."""

from __future__ import annotations

from typing import Any

from reranker.confidence import DECIMALS
from reranker.drawing.changes import brackets
from reranker.outputs.sentence import ParsedSentence
from reranker.ranking import SCORE_DECIMALS
from reranker.trees.tree import ROOT_LABELS

VERSION = 1
"""Increased when a field changes its meaning or is removed."""


def to_dict(sentence: ParsedSentence) -> dict[str, Any]:
    """Plain data for JSON; docs/sentence.schema.json describes every field."""
    words, certainty = sentence.words, sentence.certainty
    origin = sentence.origin
    return {
        "version": VERSION,
        "id": sentence.id,
        "file": origin.file if origin else None,
        "line": origin.line if origin else None,
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
    """Parents before children, left to right; ``Constituent`` of docs/sentence.schema.json."""
    if sentence.tree is None:
        return []
    words = sentence.words
    spans: list[dict[str, Any]] = []
    enclosing: list[tuple[int, int]] = []  # place in ``found`` and end of those that are open
    for node, start, end in brackets(sentence.tree):
        # A constituent of the same words as the one before is its child.
        while enclosing and enclosing[-1][1] <= start:
            enclosing.pop()
        spans.append(
            {
                "label": node.label,
                "parent": enclosing[-1][0] if enclosing else None,
                "words": [start, end],
                "start": words[start].start,
                "end": words[end - 1].end,
                "probability": _probability(sentence, start, end, node.label),
            }
        )
        enclosing.append((len(spans) - 1, end))
    return spans


def _probability(sentence: ParsedSentence, start: int, end: int, label: str) -> float | None:
    """The probability of a bracket; None for the root, and where the parser gives none."""
    if sentence.certainty is None or label in ROOT_LABELS:
        return None
    return round(sentence.certainty.probabilities.get((start, end, label), 0.0), DECIMALS)
