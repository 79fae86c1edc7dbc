"""Passages, one per line, whose last word is to be predicted, as in LAMBADA (Paperno et al. 2016,
"The LAMBADA dataset")."""

from __future__ import annotations

import os
from collections.abc import Iterator

from reranker.files.text import open_text
from reranker.nbest.words import split_words
from reranker.text.reading import Refused, refuse_other_than_text
from reranker.text.running import Line, line_fault, tokens_of


def read_passages(path: str | os.PathLike[str]) -> Iterator[Line | Refused]:
    """Yield the tokens of every non-empty line; a line that is not UTF-8, too long or a single word
    is refused, as is the rest of a damaged file. Raises InputError for a file that cannot be opened
    or is not text."""
    known: dict[str, str] = {}
    with open_text(path) as file:
        refuse_other_than_text(file.name, file.head())
        number = 0
        for number, text in enumerate(file, 1):
            words = split_words(text)
            reason = line_fault(text)
            if reason is None and len(words) == 1:
                reason = "one word, with nothing before it"
            if reason is not None:
                yield Refused(file.name, number, reason)
            elif words:
                yield tokens_of(words, known)
        if file.damage is not None:
            yield Refused(
                file.name, number + 1, f"the file cannot be read to its end: {file.damage}"
            )
