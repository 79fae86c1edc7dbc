"""The lines of an n-best file, whose head can be examined before any is consumed."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.files.text import TextFile, open_text
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.words import printable

_LOGGER = logging.getLogger(__name__)

HEAD_LINES = 400
HEAD_CHARACTERS = 1 << 20

# No parser writes longer lists.
LONGEST_LIST_LINES = 100_000
LONGEST_LIST_CHARACTERS = 1 << 26

Group = tuple[int, list[RawCandidate]]  # a list's first line and its candidates


class NumberedLines:
    """An iterator over (line number from 1, line without its line break)."""

    def __init__(
        self,
        path: str | os.PathLike[str] | TextFile,
        beam: int | None = None,
        warn: Callable[[str], None] = _LOGGER.warning,
    ) -> None:
        """Open the file; raise InputError if it cannot be read. ``beam`` is the number of lines of
        a list, for files that do not say; readers report unusable scores to ``warn``."""
        self._file = open_text(path, streams=True)
        self.name = self._file.name
        self.beam = beam
        self.warn = warn
        self._has_reported_score = False
        self._lines = iter(self._file)
        self._number = 0
        self._bytes = 0  # of the lines taken so far
        self.share_done: float | None = None
        """The share of lines consumed so far, set by a dialect that reads the whole file before its
        first list."""
        self.head: list[str] = []  # the first lines, from which the format is recognised
        size = 0
        for line in itertools.islice(self._lines, HEAD_LINES):
            self.head.append(line)
            size += len(line)
            if size > HEAD_CHARACTERS:
                break

    def report_score(self, line: int, text: str, expected: str) -> None:
        """Warn about the first unusable score in the file."""
        if not self._has_reported_score:
            self.warn(
                f"{self.name}:{line}: not a usable score: {printable(text)[:60]!r}; in format "
                f"{expected}; candidates with such a score are kept without one"
            )
        self._has_reported_score = True

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
    def size(self) -> int | None:
        """Return the bytes of the file; None if it is a pipe."""
        return self._file.size

    @property
    def position(self) -> int:
        """Return about where the lines read so far end in a file of known size, in bytes."""
        if self.share_done is not None:
            return int(self.share_done * (self.size or 0))
        return self._file.position(self._bytes)

    @property
    def damage(self) -> str | None:
        """Return, after the last line, the reason why nothing more could be read; else None."""
        return self._file.damage

    def numbered(self, groups: Iterable[Group]) -> Iterator[RawList]:
        """Yield the groups as lists numbered 0, 1, ...; for a damaged file, add a list that reports
        the damage."""
        position = 0
        for position, (start, candidates) in enumerate(groups, 1):
            yield RawList(str(position - 1), start, candidates)
        if report := self.damage_report():
            yield RawList(str(position), report[0].line, report)

    def damage_report(self) -> list[RawCandidate]:
        """Return, after the last line, an entry that reports damage to the file, if there is
        any."""
        if not self.damage:
            return []
        problem = ("truncated", f"the file cannot be read to its end: {self.damage}")
        return [RawCandidate(self._number, "", problem=problem)]

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(itertools.chain(self.head, self._lines), 1):
            self._number = number
            self._bytes += (
                len(line) if line.isascii() else len(line.encode("utf-8", "surrogateescape"))
            )
            yield number, line.removesuffix("\n").removesuffix("\r")

    def close(self) -> None:
        self._file.close()


def separated(file: NumberedLines) -> Iterator[Group]:
    """Yield lists of lines, one candidate per line, with a blank line after each list."""
    candidates: list[RawCandidate] = []
    for number, line in file:
        if text := line.strip():
            candidates.append(RawCandidate(number, text))
        else:
            yield (candidates[0].line if candidates else number), candidates
            candidates = []
    if candidates:
        yield candidates[0].line, candidates


def of_length(file: NumberedLines, beam: int) -> Iterator[Group]:
    """Yield lists of ``beam`` lines, one candidate per line, short lists padded with blank
    lines."""
    candidates: list[RawCandidate] = []
    for number, line in file:
        candidates.append(RawCandidate(number, line.strip()))
        if len(candidates) == beam:
            start = candidates[0].line
            while candidates and not candidates[-1].text:
                candidates.pop()
            yield start, candidates
            candidates = []
    if candidates:
        candidates.append(cut_short(candidates, beam, candidates[0].line))
        yield candidates[0].line, candidates


def cut_short(candidates: Sequence[RawCandidate], promised: int, start: int) -> RawCandidate:
    """Return an entry for the missing end of a list, at the line of the last candidate."""
    message = f"the list is cut short: {len(candidates)} of {promised} candidates are there"
    line = candidates[-1].line if candidates else start
    return RawCandidate(line, "", problem=("truncated", message))
