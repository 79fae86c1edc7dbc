"""Lines of text from a file, a gzip file or standard input, whatever bytes they hold."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from reranker.errors import InputError

MAX_LINE = 1_000_000
_GZIP_MAGIC = b"\x1f\x8b"


class TextFile:
    """Iterates over the lines of a file, each with its line break; use it in a ``with``.

    ``damage`` is None, or after the last line says why nothing more could be read: a gzip file
    cut short, a disk error. A line of more than ``MAX_LINE`` characters arrives cut to
    ``MAX_LINE + 1``. Bytes that are not UTF-8 arrive as surrogate escapes
    (``text.encode(errors="surrogateescape")`` gives them back).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open ``path``, ``-`` being standard input. Raises InputError if that cannot be done."""
        is_stdin = str(path) == "-"
        self.name = "standard input" if is_stdin else str(Path(path))
        try:
            # Closed by __exit__.
            self._binary = open(  # noqa: SIM115
                0 if is_stdin else path, "rb", closefd=not is_stdin
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{self.name}: cannot be read: {reason}") from error
        self.damage: str | None = None

    def __iter__(self) -> Iterator[str]:
        source = _UntilDamage(self._binary)
        text = io.TextIOWrapper(
            io.BufferedReader(source), "utf-8", errors="surrogateescape", newline="\n"
        )
        line = text.readline(MAX_LINE + 1).removeprefix("\ufeff")
        while line:
            yield line
            while len(line) > MAX_LINE and not line.endswith("\n"):
                line = text.readline(MAX_LINE + 1) or "\n"
            line = text.readline(MAX_LINE + 1)
        self.damage = source.damage

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._binary.close()


def open_text(path: str | os.PathLike[str]) -> TextFile:
    """Open plain or gzip text, told apart by content, or standard input for ``-``."""
    return TextFile(path)


class _UntilDamage(io.RawIOBase):
    """The bytes of a plain or gzip file, up to its end or to the first that cannot be read."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._content: io.BufferedReader | gzip.GzipFile | None = None
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            if self._content is None:
                is_gzip = self._file.peek(2)[:2] == _GZIP_MAGIC
                self._content = gzip.GzipFile(fileobj=self._file) if is_gzip else self._file
            data = self._content.read1(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            self.damage = str(error)
            return 0
        buffer[: len(data)] = data
        return len(data)
