"""Reads trees from treebanks as they are distributed: files, folders and patterns; a tree on one
line or over several; plain, gzip or zstd."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reranker.errors import InputError, TreeError
from reranker.files.patterns import expanded
from reranker.files.text import read_lines
from reranker.trees import psd
from reranker.trees.splitting import open_brackets, split_trees
from reranker.trees.tree import WHITE_SPACE, Tree

logger = logging.getLogger(__name__)

# What treebanks call files of trees. Not .prd: the Penn Treebank has the same trees, with tags, in
# .mrg.
ENDINGS = (".mrg", ".ptb", ".tree", ".trees", ".parse", psd.ENDING)
_PACKED = (".gz", ".zst")

Name = str | os.PathLike[str]  # a file, a folder, a pattern, or ``-`` for standard input


class TreeText(NamedTuple):
    """A tree on one line, otherwise unchanged, and the line where it begins, counted from 1."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def treebank_files(names: Iterable[Name]) -> list[str]:
    """The files that the names stand for; for a folder, those in and below it that end in one of
    ``ENDINGS``, packed or not, sorted by name, folder by folder.

    Raises InputError for a pattern that matches nothing and for a folder without such files.
    """
    files: list[str] = []
    for name in expanded(names):
        if not os.path.isdir(name):
            files.append(name)
            continue
        inside = sorted(path for path in Path(name).rglob("*") if _holds_trees(path))
        if not inside:
            raise InputError(f"{name}: no file in this folder ends in {', '.join(ENDINGS)}")
        files += map(str, inside)
    return files


def named(names: Iterable[Name]) -> str:
    """The name of a treebank in messages.

    >>> named(["23/1.mrg"]), named(["23/1.mrg", "23/2.mrg", "23/3.mrg"])
    ('23/1.mrg', '23/1.mrg and 2 more')
    """
    first, *others = map(str, names)
    return f"{first} and {len(others)} more" if others else first


def _holds_trees(path: Path) -> bool:
    return _unpacked(path.name).endswith(ENDINGS) and path.name[0] != "." and path.is_file()


def _unpacked(name: str) -> str:
    """A file's name without the ending of what packed it."""
    name = name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name


def _split(file: str, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The trees of a file, and the line where each begins; of a historical corpus those with words,
    plain."""
    is_historical = _unpacked(file).endswith(psd.ENDING)
    for number, text in split_trees(lines):
        tree: str | None = text
        if is_historical:
            with contextlib.suppress(TreeError):  # whoever reads the tree says what is wrong
                tree = psd.plain(text)
        if tree is not None:
            yield number, tree


def read_texts(names: Iterable[Name]) -> Iterator[TreeText]:
    """Every tree of the files, in order, including broken ones; blank lines are ignored.

    Raises InputError for a file that cannot be read to its end.
    """
    for file in treebank_files(names):
        for number, text in _split(file, read_lines(file)):
            yield TreeText(file, number, text)


def read_treebank(names: Iterable[Name]) -> Iterator[Tree]:
    """Every tree of the files, in order; a broken one is skipped and logged with file, line and
    reason. Raises InputError for a file that cannot be read to its end or contains no tree."""
    for file in treebank_files(names):
        count = 0
        for place in read_texts([file]):
            try:
                yield Tree.from_string(place.text)
                count += 1
            except TreeError as error:
                logger.warning("%s: skipped, %s: %s", place, error.code, error)
        if count == 0:
            raise InputError(f"{file}: contains no trees")


def read_sentences(names: Iterable[Name]) -> list[TreeText]:
    """Every sentence of the files, in order, to be compared with the sentences of other files.
    See ``sentences``; raises InputError as ``read_texts`` does."""
    return sentences((file, list(read_lines(file))) for file in treebank_files(names))


def sentences(files: Iterable[tuple[str, list[str]]]) -> list[TreeText]:
    """The sentences in the lines of files, broken ones too.

    Where no tree takes up several lines, each line is a sentence, as EVALB reads it: it may have
    several trees, or none. Where one does, blank lines mean nothing.
    """
    places: list[TreeText] = []
    is_spread = False
    for file, lines in files:
        pieces = list(_split(file, lines))
        whole = [line.strip(WHITE_SPACE) for line in lines]
        if any(text != whole[number - 1] and open_brackets(text) == 0 for number, text in pieces):
            is_spread = True
        else:
            pieces = list(enumerate(whole, 1))
        places += [TreeText(file, number, text) for number, text in pieces]
    return [place for place in places if place.text or not is_spread]
