"""Splits lines of text into bracketed trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reranker.files.text import MAX_LINE
from reranker.trees.tree import ROOT_LABELS, WHITE_SPACE

_ESCAPED_BRACKET = re.compile(r"\\[()]")
_ROOT_LABEL = re.compile(r"\s*\(\s*([^()\s]*)", re.ASCII)


class TreeLines:
    """The lines of a tree, collected until its brackets balance."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._open_brackets = 0
        self._has_root = False  # wrapper
        self.start = 0  # the number of the first line

    @property
    def is_open(self) -> bool:
        """Whether a tree has begun and is not taken yet."""
        return bool(self._lines)

    def ends_before(self, line: str) -> bool:
        """Whether ``line`` begins another tree although brackets of this one are open.

        Only a line without indentation can. It does so if it has a root wrapper, since those never
        nest; it continues a tree that has a wrapper if it has none itself; and if neither has one,
        it begins another tree, as every pretty-printer indents.
        """
        if line[:1] != "(":
            return False
        return not self._has_root or _begins_with_root(line)

    def add(self, number: int, text: str) -> bool:
        """Add a line without surrounding space; True once all brackets are closed."""
        if not self._lines:
            self.start, self._size, self._open_brackets = number, 0, 0
            self._has_root = _begins_with_root(text)
        self._open_brackets += open_brackets(text)
        if self._size <= MAX_LINE:  # beyond the limit, brackets are only counted
            self._size += len(text) + bool(self._lines)
            self._lines.append(text)
        return self._open_brackets <= 0

    def take(self) -> tuple[int, str]:
        """The number of the first line and the tree on one line, finished or not; the next line
        begins a new one."""
        text = " ".join(self._lines)
        self._lines = []
        return self.start, text


def split_trees(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Cut text into trees by bracket balance: for each the number of its first line, and the tree
    on one line.

    A tree ends where its brackets balance, at a blank line, at the end of the text or where
    another begins (``TreeLines.ends_before``). An unfinished tree, and each line of text between
    trees, is yielded as well; ``Tree.from_string`` refuses it.
    """
    tree = TreeLines()
    for number, line in enumerate(lines, 1):
        text = line.strip(WHITE_SPACE)
        if tree.is_open and (not text or tree.ends_before(line)):
            yield tree.take()
        if text and tree.add(number, text):
            yield tree.take()
    if tree.is_open:
        yield tree.take()


def open_brackets(text: str) -> int:
    """How many more brackets ``text`` opens than it closes."""
    if "\\" in text:
        text = _ESCAPED_BRACKET.sub("", text)
    return text.count("(") - text.count(")")


def _begins_with_root(text: str) -> bool:
    match = _ROOT_LABEL.match(text)
    return match is None or match[1] in ROOT_LABELS
