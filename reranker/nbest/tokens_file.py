"""The sentences given to a parser, for candidates that hide their words
(``ReadOptions.tokens``)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

from reranker.errors import InputError, KindError
from reranker.files.kinds import TABLE, TAGGED, kind_of
from reranker.files.text import MAX_LINE, TextFile, encoding_fault, open_text
from reranker.nbest.data import Sentence
from reranker.nbest.words import escaped, split_words

_LOOK_AHEAD = 200
_SEPARATORS = {TABLE: "\t", TAGGED: "/"}
"""The kinds whose words and tags are read, with the separator of word and tag."""


def read_sentences(path: str | os.PathLike[str] | TextFile) -> Iterator[Sentence]:
    """Yield one sentence for each line, or for each block of ``word<TAB>tag`` lines.

    A line may hold ``word/TAG`` pairs: the file is read that way if every token in its first 200
    lines has a slash with something on both sides. The last slash counts. Raises InputError for a
    damaged file and for a line that breaks the form of the lines before it, KindError for a file of
    another kind.
    """
    with open_text(path) as file:
        kind = kind_of(file.head())
        if kind and _SEPARATORS.get(kind, "\0") not in file.head():
            raise KindError(f"{file.name}: not sentences: looks like {kind.described('text')}")
        lines = _lines(file)
        head = list(itertools.islice(lines, _LOOK_AHEAD))
        everything = itertools.chain(head, lines)
        if any("\t" in line for _, line in head):
            yield from _columns(everything, file.name)
        else:
            tokens = [token for _, line in head for token in split_words(line)]
            are_pairs = bool(tokens) and all(0 < t.rfind("/") < len(t) - 1 for t in tokens)
            for number, line in everything:
                tokens = split_words(line)
                if are_pairs:
                    yield _sentence([_pair(token, f"{file.name}:{number}") for token in tokens])
                else:
                    yield Sentence(tuple(map(escaped, tokens)))
        if file.damage:
            raise InputError(f"{file.name} cannot be read to its end: {file.damage}")


def _lines(file: TextFile) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, 1):
        if fault := encoding_fault(line):
            raise InputError(f"{file.name}:{number}: {fault}")
        if len(line) > MAX_LINE:
            raise InputError(f"{file.name}:{number}: more than {MAX_LINE:,} characters")
        yield number, line.rstrip("\r\n")


def _columns(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Sentence]:
    pairs: list[tuple[str, str]] = []
    for number, line in lines:
        if not line.strip():
            yield _sentence(pairs)
            pairs = []
            continue
        word, tag, *_ = [*line.split("\t"), "", ""]
        if split_words(word) != [word] or split_words(tag) != [tag]:
            raise InputError(f"{name}:{number}: not 'word<TAB>tag': {line[:60]!r}")
        pairs.append((word, tag))
    if pairs:
        yield _sentence(pairs)


def _pair(token: str, place: str) -> tuple[str, str]:
    word, _, tag = token.rpartition("/")
    if not (word and tag):
        raise InputError(f"{place}: {token[:40]!r} is not word/TAG, as the tokens before it are")
    return word, tag


def _sentence(pairs: list[tuple[str, str]]) -> Sentence:
    words, tags = zip(*pairs, strict=True) if pairs else ((), ())
    return Sentence(tuple(map(escaped, words)), tuple(map(escaped, tags)))
