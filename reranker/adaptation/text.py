"""Sentences of a text that are left out, and why."""

from __future__ import annotations

from typing import NamedTuple

from reranker.text.reading import TextSentence


class Refused(NamedTuple):
    """A sentence that is left out."""

    file: str
    line: int
    reason: str

    @classmethod
    def of(cls, sentence: TextSentence, reason: str) -> Refused:
        return cls(sentence.origin.file, sentence.origin.line, reason)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: left out: {self.reason}"
