"""``--tokens FILE``: the sentences a parser was given, for candidates that hide them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from reranker.errors import InputError
from reranker.files.text import TextFile, open_text
from reranker.nbest.data import Sentence
from reranker.nbest.words import escaped, split_words

_LOOK_AHEAD = 200
_UNDECODED = re.compile("[\udc80-\udcff]")


def read_sentences(path: str | os.PathLike[str] | TextFile) -> Iterator[Sentence]:
    """One sentence for each line, or for each block of ``word<TAB>tag`` lines.

    A line may hold ``word/TAG`` pairs: it is read so if every token in the first 200 lines has a
    slash with something on both sides. The last slash counts. Raises InputError for a damaged file
    and for a line that breaks the form of those before it.
    """
    with open_text(path) as file:
        lines = _lines(file)
        head = list(itertools.islice(lines, _LOOK_AHEAD))
        everything = itertools.chain(head, lines)
        if any("\t" in line for _, line in head):
            yield from _columns(everything, file.name)
        else:
            tokens = [token for _, line in head for token in split_words(line)]
            are_pairs = bool(tokens) and all(0 < t.rfind("/") < len(t) - 1 for t in tokens)
            for number, line in everything:
                yield _sentence(split_words(line), are_pairs, f"{file.name}:{number}")
        if file.damage:
            raise InputError(f"{file.name} is cut short: {file.damage}")


def _lines(file: TextFile) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, 1):
        if undecoded := _UNDECODED.search(line):
            byte = ord(undecoded[0]) - 0xDC00
            raise InputError(f"{file.name}:{number}: byte 0x{byte:02x} is not UTF-8")
        yield number, line.rstrip("\r\n")


def _columns(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Sentence]:
    words: list[str] = []
    tags: list[str] = []
    for number, line in lines:
        if not line.strip():
            yield Sentence(tuple(words), tuple(tags))
            words, tags = [], []
            continue
        columns = line.split("\t")
        if len(columns) < 2 or any(split_words(column) != [column] for column in columns[:2]):
            raise InputError(f"{name}:{number}: not 'word<TAB>tag': {line[:60]!r}")
        words.append(escaped(columns[0]))
        tags.append(escaped(columns[1]))
    if words:
        yield Sentence(tuple(words), tuple(tags))


def _sentence(tokens: list[str], are_pairs: bool, place: str) -> Sentence:
    if not are_pairs:
        return Sentence(tuple(escaped(token) for token in tokens))
    words, tags = [], []
    for token in tokens:
        word, slash, tag = token.rpartition("/")
        if not (word and slash and tag):
            raise InputError(
                f"{place}: {token[:40]!r} is not word/TAG, as the tokens before it are"
            )
        words.append(escaped(word))
        tags.append(escaped(tag))
    return Sentence(tuple(words), tuple(tags))
