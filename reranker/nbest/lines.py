"""The lines of an n-best file, with a look at its head before any is taken."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterator

from reranker.files.text import TextFile, open_text
from reranker.nbest.data import RawCandidate, RawList

_LOGGER = logging.getLogger(__name__)

HEAD_LINES = 400
HEAD_CHARACTERS = 1 << 20

# No parser writes a list of more lines than this.
LONGEST_LIST_LINES = 100_000
LONGEST_LIST_CHARACTERS = 1 << 26


class NumberedLines:
    """Iterates over (line number from 1, line without its line break)."""

    def __init__(
        self,
        path: str | os.PathLike[str] | TextFile,
        beam: int | None = None,
        warn: Callable[[str], None] = _LOGGER.warning,
    ) -> None:
        """``beam`` is the number of lines of a list, for files that do not say; readers report
        scores that cannot be used to ``warn``. Raises InputError if the file cannot be read."""
        self._file = open_text(path)
        self.name = self._file.name
        self.beam = beam
        self.warn = warn
        self._lines = iter(self._file)
        self._number = 0
        self.head: list[str] = []
        """The first lines, for a look at the format."""
        size = 0
        for line in itertools.islice(self._lines, HEAD_LINES):
            self.head.append(line)
            size += len(line)
            if size > HEAD_CHARACTERS:
                break

    def look_for_blank_line(self) -> None:
        """Extend the head past its first blank line, however long the first list is."""
        size = sum(map(len, self.head))
        if not all(line.strip() for line in self.head):
            return
        for line in itertools.islice(self._lines, LONGEST_LIST_LINES):
            is_behind = not self.head[-1].strip()
            self.head.append(line)
            size += len(line)
            if is_behind or size > LONGEST_LIST_CHARACTERS:
                return

    @property
    def damage(self) -> str | None:
        """After the last line: why nothing more could be read, if so."""
        return self._file.damage

    def rest(self, position: int) -> Iterator[RawList]:
        """After the last line: if the file is damaged, the list that says so."""
        if self.damage:
            problem = ("truncated", f"the file is cut short: {self.damage}")
            candidate = RawCandidate(self._number, "", problem=problem)
            yield RawList(str(position), self._number, [candidate])

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(itertools.chain(self.head, self._lines), 1):
            self._number = number
            yield number, line.removesuffix("\n").removesuffix("\r")

    def close(self) -> None:
        self._file.close()
