"""A tree that may go over several lines."""

from __future__ import annotations

from reranker.files.text import MAX_LINE
from reranker.trees.splitting import open_brackets, starts_new_tree


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
        """Whether a tree has begun and not ended."""
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

    def take(self) -> str:
        """The tree on one line, finished or not; the next line begins another."""
        text = " ".join(self._lines)
        self._lines = []
        return text
