"""Lines of text -> bracketed trees: where one ends and the next begins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reranker.files.text import MAX_LINE
from reranker.trees.tree import ROOT_LABELS, WHITE_SPACE

_ESCAPED_BRACKET = re.compile(r"\\[()]")
_ROOT_LABEL = re.compile(r"\s*\(\s*([^()\s]*)", re.ASCII)


def open_brackets(text: str) -> int:
    """How many more brackets ``text`` opens than it closes."""
    if "\\" in text:
        text = _ESCAPED_BRACKET.sub("", text)
    return text.count("(") - text.count(")")


def starts_new_tree(line: str, unfinished: str) -> bool:
    """Whether ``line`` begins another tree although the brackets of ``unfinished`` are open.

    Only a line without indentation can. It does so if it has a root wrapper, since those never
    nest; it continues a tree that has a wrapper if it has none itself; and if neither has one, it
    begins another tree, as every pretty-printer indents.
    """
    if line[:1] != "(":
        return False
    return _root_label(line) in ROOT_LABELS or _root_label(unfinished) not in ROOT_LABELS


def _root_label(text: str) -> str:
    match = _ROOT_LABEL.match(text)
    return match[1] if match else ""


def split_trees(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Cut text into trees by bracket balance: (line number of the start, text) for each.

    A tree ends where its brackets balance, at a blank line, at the end of the text or where
    another begins (see ``starts_new_tree``). An unfinished tree, and each line of text between
    trees, is yielded unchanged; ``Tree.from_string`` refuses it.
    """
    start, depth = 0, 0
    pending: list[str] = []
    for number, line in enumerate(lines, 1):
        is_blank = not line.strip(WHITE_SPACE)
        if pending and (is_blank or starts_new_tree(line, pending[0])):
            yield start, "".join(pending)
            pending, depth = [], 0
        if is_blank:
            continue
        if not pending:
            start = number
        pending.append(line if line.endswith("\n") else line + "\n")
        depth += open_brackets(line)
        if depth <= 0:
            yield start, "".join(pending)
            pending, depth = [], 0
    if pending:
        yield start, "".join(pending)


class TreeLines:
    """The lines of a tree, collected until its brackets balance."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._open_brackets = 0
        self.start = 0
        """The number of the first line."""

    @property
    def is_open(self) -> bool:
        """Whether a tree has begun and is not taken yet."""
        return bool(self._lines)

    def ends_before(self, line: str) -> bool:
        """Whether the line begins another tree although brackets of this one are open."""
        return starts_new_tree(line, self._lines[0])

    def add(self, number: int, text: str) -> bool:
        """Take in a line without the space around it; True once all brackets are closed."""
        if not self._lines:
            self.start, self._size, self._open_brackets = number, 0, 0
        self._open_brackets += open_brackets(text)
        if self._size <= MAX_LINE:  # beyond the limit, brackets are only counted
            self._size += len(text) + bool(self._lines)
            self._lines.append(text)
        return self._open_brackets <= 0

    def take(self) -> tuple[int, str]:
        """The number of the first line and the tree on one line, finished or not; the next line
        begins another."""
        text = " ".join(self._lines)
        self._lines = []
        return self.start, text
