"""The lines of an n-best file, with a look at its head before any is taken."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from reranker.textfiles import TextFile, open_text

HEAD_LINES = 400
HEAD_CHARACTERS = 1 << 20


class NumberedLines:
    """Iterates over (line number from 1, line without its line break); use it in a ``with``."""

    def __init__(self, path: str | os.PathLike[str] | TextFile) -> None:
        """Raises InputError if the file cannot be read."""
        self._file = open_text(path)
        self.name = self._file.name
        self._lines = iter(self._file)
        self.head: list[str] = []
        """The first lines, for a look at the format."""
        size = 0
        for line in itertools.islice(self._lines, HEAD_LINES):
            self.head.append(line)
            size += len(line)
            if size > HEAD_CHARACTERS:
                break

    @property
    def damage(self) -> str | None:
        """After the last line: why nothing more could be read, if so."""
        return self._file.damage

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(itertools.chain(self.head, self._lines), 1):
            yield number, line.removesuffix("\n").removesuffix("\r")

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
