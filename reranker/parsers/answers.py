"""What a program prints for the sentences it was given -> a list for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.candidates import raw_list
from reranker.nbest.data import Sentence
from reranker.nbest.faithful import Source, accept
from reranker.nbest.notation import Notation

_NAME = "the parser's output"
_BRACKETED = Source(_NAME, Notation.BRACKETS, restore=True)


def given_lines(sentences: Sequence[Sentence]) -> bytes:
    """The sentences as parsers read them: one a line, a space between words."""
    return "".join(" ".join(sentence.words) + "\n" for sentence in sentences).encode()


def printed_lists(
    printed: bytes, sentences: Sequence[Sentence], options: ReadOptions
) -> list[NBest | str] | str:
    """For each sentence its list or why it has no candidate; or why the output as a whole is not
    lists for them."""
    output = TextInMemory(printed, _NAME)
    options = replace(options, tokens=tuple(sentences), restore=True)
    try:
        lists = list(read_nbest(output, options=options, warn=lambda _: None))
    except InputError as error:
        return str(error)
    if any(entry.code == "missing" for nbest in lists for entry in nbest.rejected):
        return "the parser printed too few lists"
    return list(map(_usable, lists))


def bracketed_list(tree: str, sentence: Sentence) -> NBest | str:
    """The list of a parser's only tree for a sentence, or why it is none."""
    return _usable(accept(raw_list([tree]), _BRACKETED, sentence))


def _usable(nbest: NBest) -> NBest | str:
    """The list, or why it has no candidate."""
    if nbest.candidates:
        return nbest
    return nbest.rejected[0].message if nbest.rejected else "the parser found no tree"
