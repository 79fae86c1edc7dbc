"""Plain text, a sentence of tokens a line -> what can be parsed, and what cannot, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reranker.files.text import MAX_LINE, open_text
from reranker.nbest.words import encoding_fault, escaped, split_words


class Refused(NamedTuple):
    """A sentence that is left out."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: left out: {self.reason}"


class Plain(NamedTuple):
    """A sentence to be parsed: words with a space between them, brackets escaped as in trees."""

    file: str
    line: int
    text: str

    def refused(self, reason: str) -> Refused:
        return Refused(self.file, self.line, reason)


def read_text(paths: Iterable[str | os.PathLike[str]], longest: int) -> Iterator[Plain | Refused]:
    """Every line that is not empty; refused is what is not UTF-8 or has more than ``longest``
    words, and the rest of a file that is damaged. Raises InputError for a file that cannot be
    opened."""
    for path in paths:
        with open_text(path) as file:
            number = 0
            for number, line in enumerate(file, 1):
                words = split_words(line)
                reason = encoding_fault(line)
                if len(line) > MAX_LINE:
                    reason = f"more than {MAX_LINE:,} characters"
                elif len(words) > longest:
                    reason = f"{len(words)} words, more than {longest}"
                if reason:
                    yield Refused(file.name, number, reason)
                elif words:
                    yield Plain(file.name, number, " ".join(map(escaped, words)))
            if file.damage:
                yield Refused(file.name, number + 1, f"the file is cut short: {file.damage}")
