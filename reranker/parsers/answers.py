"""What a program prints for the sentences it was given -> a list for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.data import Sentence


def given_lines(sentences: Sequence[Sentence]) -> bytes:
    """The sentences as parsers read them: one a line, a space between words."""
    return "".join(" ".join(sentence.words) + "\n" for sentence in sentences).encode()


def printed_lists(
    printed: bytes, sentences: Sequence[Sentence], options: ReadOptions
) -> list[NBest | str] | str:
    """For each sentence its list or why it has no candidate; or why the output as a whole is not
    lists for them."""
    lists = TextInMemory(printed, "the parser's output")
    options = replace(options, tokens=tuple(sentences), restore=True)
    try:
        found = list(read_nbest(lists, options=options, warn=lambda _: None))
    except InputError as error:
        return str(error)
    if any(entry.code == "missing" for nbest in found for entry in nbest.rejected):
        return "the parser printed too few lists"
    return [nbest if nbest.candidates else _reason(nbest) for nbest in found]


def _reason(nbest: NBest) -> str:
    return nbest.rejected[0].message if nbest.rejected else "the parser found no tree"
