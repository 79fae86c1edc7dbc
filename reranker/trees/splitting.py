"""Lines of text cut into bracketed trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reranker.files.text import MAX_LINE
from reranker.trees.tree import ROOT_LABELS

_ESCAPED_BRACKET = re.compile(r"\\[()]")
_ROOT_LABEL = re.compile(r"\s*\(\s*([^()\s]*)", re.ASCII)


# Remarks (# ...), LDC's notices (*x* ... *x*), and lines of markup, as the Chinese Treebank has.
_REMARK = re.compile(r"#|\*x\*|</?[a-zA-Z][^()]*>$")
_WORD = re.compile(r"#(?:[^()\s]*\s*\)|$)")


class Piece(NamedTuple):
    """Lines of a treebank that belong together: a tree, finished or not, on one line; a line
    between trees; or, without text, a blank line between trees."""

    line: int  # the number of the first line
    end: int  # the number of the last line
    text: str


class TreeLines:
    """The lines of a tree, collected until its brackets balance."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._open_brackets = 0
        self._has_root = False  # wrapper
        self._indentation = 0
        self._blank_lines = range(0)  # that follow the last line
        self.start = 0  # the number of the first line
        self.end = 0  # the number of the last line

    def may_continue(self, text: str) -> bool:
        """Return whether text like a remark can be the word that the last line waits for."""
        waits = bool(self._lines) and not self._lines[-1].endswith(")")
        return waits and _WORD.match(text) is not None

    @property
    def is_open(self) -> bool:
        """Return whether a tree has begun and has not been taken."""
        return bool(self._lines)

    def ends_before(self, line: str) -> bool:
        """Return whether ``line`` begins another tree although brackets of this one are open.

        An indented line begins one only after a blank line and, if it is indented further than this
        tree, only with a root wrapper, since wrappers never nest. Any other line begins one if the
        line has a root wrapper, or if neither the line nor this tree has one, as every
        pretty-printer indents.
        """
        indentation = _indentation(line)
        if line[indentation : indentation + 1] != "(" or (indentation and not self._blank_lines):
            return False
        has_root = self._has_root or indentation > self._indentation
        return not has_root or _begins_with_root(line)

    def add(self, number: int, text: str, indentation: int = 0) -> bool:
        """Add a line without surrounding space; return True once all brackets are closed."""
        if not self._lines:
            self.start, self._size, self._open_brackets = number, 0, 0
            self._has_root = _begins_with_root(text)
            self._indentation = indentation
        self.end, self._blank_lines = number, range(0)
        self._open_brackets += open_brackets(text)
        if self._size <= MAX_LINE:  # beyond the limit, brackets are only counted
            self._size += len(text) + bool(self._lines)
            self._lines.append(text)
        return self._open_brackets <= 0

    def add_blank(self, number: int) -> None:
        """Add a blank line, which belongs to the tree only if a line of the tree follows."""
        first = self._blank_lines.start if self._blank_lines else number
        self._blank_lines = range(first, number + 1)

    def take(self) -> tuple[int, str]:
        """Return the number of the first line and the tree on one line, finished or not; start
        over."""
        text = " ".join(self._lines)
        self._lines = []
        return self.start, text

    def pieces(self) -> Iterator[Piece]:
        """Take the tree; yield it and the blank lines after its last line."""
        start, text = self.take()
        yield Piece(start, self.end, text)
        for number in self._blank_lines:
            yield Piece(number, number, "")


def split_trees(lines: Iterable[str]) -> Iterator[Piece]:
    """Cut text into trees by bracket balance, and yield the text between trees line by line.

    A tree ends where its brackets balance, at the end of the text, or where another begins
    (``TreeLines.ends_before``). An unfinished tree, and each line of text between trees, is yielded
    as well; ``Tree.from_string`` rejects both. Remarks and notices (``is_remark``) are yielded in
    place and belong to no tree.
    """
    tree = TreeLines()
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if is_remark(text) and not tree.may_continue(text):
            yield Piece(number, number, text)
        elif text:
            if tree.is_open and tree.ends_before(line):
                yield from tree.pieces()
            if tree.add(number, text, _indentation(line)):
                yield from tree.pieces()
        elif tree.is_open:
            tree.add_blank(number)
        else:
            yield Piece(number, number, "")
    if tree.is_open:
        yield from tree.pieces()


def is_remark(text: str) -> bool:
    """Return whether a line without surrounding space is a remark, a notice or markup."""
    return text[:1] in ("#", "*", "<") and _REMARK.match(text) is not None


def open_brackets(text: str) -> int:
    """Return how many more brackets ``text`` opens than it closes."""
    if "\\" in text:
        text = _ESCAPED_BRACKET.sub("", text)
    return text.count("(") - text.count(")")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _begins_with_root(text: str) -> bool:
    match = _ROOT_LABEL.match(text)
    return match is None or match[1] in ROOT_LABELS
