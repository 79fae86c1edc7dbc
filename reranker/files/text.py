"""Lines of text from a file (plain, gzip or zstd), standard input or memory."""

from __future__ import annotations

import gzip
import io
import logging
import os
import re
import stat
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Self, cast

import zstandard

from reranker.errors import InputError
from reranker.files.encoding import AsUtf8, first_time, told
from reranker.files.opening import open_file, shown_path

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

logger = logging.getLogger(__name__)

MAX_LINE = 1_000_000
MAX_JSON_LINE = 1 << 26  # a line that begins with a brace holds a whole list
_MAX_SKIPPED = 1 << 30  # characters of a line after which nothing is read
_HOLE = "a hole: nothing but NUL bytes"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 16
_PACKED = 1 << 12

# Bytes that are not UTF-8 are read as the upper surrogates; JSON can escape any surrogate.
SURROGATE = re.compile("[\ud800-\udfff]")


def encoding_fault(text: str) -> str | None:
    """Return the fault of the first character that cannot be written as UTF-8, or None. Such a
    character stands for a byte that is not in the encoding of the file."""
    surrogate = None if text.isascii() else SURROGATE.search(text)
    if surrogate is None:
        return None
    byte = ord(surrogate[0]) - 0xDC00
    name = (told() or "UTF-8").replace("_", "-")
    return f"byte 0x{byte:02x} is not {name}" if byte >= 0x80 else "half a surrogate pair"


class TextFile:
    """An iterator over the lines of a file, each with its line break; use it in a ``with``.

    ``damage`` is None, or after the last line the reason why nothing more could be read: a
    truncated gzip file, a disk error. A line of more than ``MAX_LINE`` characters is cut to
    ``MAX_LINE + 1``; a line of JSON may have ``MAX_JSON_LINE``. A line without an end is damage,
    and so is a hole in the file. Windows-1252 is read, too (``files/encoding.py``). Other bytes
    that are not UTF-8 arrive as surrogate escapes
    (``text.encode(errors="surrogateescape")`` restores them).
    """

    _unpacks = True
    _is_recoded = True
    _begun: tuple[_UntilDamage, io.BufferedReader] | None = None
    """The text read ahead by ``head``."""

    def __init__(self, path: str | os.PathLike[str], *, streams: bool = False) -> None:
        """Open ``path``, ``-`` being standard input; a path that ``streams`` may be a named pipe.
        Raises InputError if that fails."""
        is_stdin = str(path) == "-"
        self.name = shown_path(path)
        try:
            self._binary = open_file(0 if is_stdin else path, streams=streams)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{self.name}: cannot be read: {reason}") from error
        status = os.fstat(self._binary.fileno())
        self.size: int | None = status.st_size if stat.S_ISREG(status.st_mode) else None
        """The size of a regular file in bytes, as stored; None for a pipe."""
        self._source: _UntilDamage | None = None
        self.damage: str | None = None

    def head(self) -> str:
        """Return the beginning of the text, read but not consumed: up to 64 KiB, or as much as has
        arrived through a pipe."""
        return self._started()[1].peek().decode("utf-8", "surrogateescape").removeprefix("\ufeff")

    def position(self, read: int) -> int:
        """Return the position in a regular file after its first ``read`` bytes of text; in a packed
        file, an estimate; 0 for a pipe."""
        if self._binary.closed:
            return self.size or 0
        if self.size is None or self._source is None or not self._source.unpacked:
            return 0
        # Assume that all bytes are packed equally well: exact for plain text, and at the end.
        return self._binary.tell() * min(read, self._source.unpacked) // self._source.unpacked

    def pieces(self, longest: int) -> Iterator[str]:
        """Yield the whole text without cuts: lines with their breaks, lines of more than
        ``longest`` characters in pieces. A byte order mark at the start is left out."""
        source, text = self._opened()
        piece = text.readline(longest).removeprefix("\ufeff") or text.readline(longest)
        while piece and not _is_hole(piece, longest):
            yield piece
            piece = text.readline(longest)
        self.damage = _HOLE if piece else source.damage

    def _opened(self) -> tuple[_UntilDamage, io.TextIOWrapper]:
        source, content = self._started()
        self._begun = None
        return source, io.TextIOWrapper(content, "utf-8", errors="surrogateescape", newline="\n")

    def _started(self) -> tuple[_UntilDamage, io.BufferedReader]:
        if self._begun is None:
            source = self._source = _UntilDamage(self._binary, self._unpacks, self.size is not None)
            content = AsUtf8(source, self._tell, source.end) if self._is_recoded else source
            self._begun = source, io.BufferedReader(content, _BUFFER)
        return self._begun

    def _tell(self, message: str) -> None:
        if first_time(self.name):
            logger.info("%s: %s", self.name, message)

    def __iter__(self) -> Iterator[str]:
        source, text = self._opened()
        line = text.readline(MAX_LINE + 1).removeprefix("\ufeff")
        while line:
            if _is_hole(line, MAX_LINE):
                self.damage = _HOLE
                return
            if len(line) > MAX_LINE and line[0] == "{" and not line.endswith("\n"):
                line += text.readline(MAX_JSON_LINE)
            yield line
            length = len(line)
            while length > MAX_LINE and not line.endswith("\n"):
                line = text.readline(MAX_LINE + 1) or "\n"
                length += len(line)
                if length > _MAX_SKIPPED:
                    self.damage = f"a line of more than {_MAX_SKIPPED:,} characters"
                    return
            line = text.readline(MAX_LINE + 1)
        self.damage = source.damage

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __str__(self) -> str:
        return self.name

    def close(self) -> None:
        self._binary.close()


class TextInMemory(TextFile):
    """Bytes in memory, with the interface of a text file. They are never unpacked: a few bytes
    could become any number."""

    _unpacks = False
    _is_recoded = False

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        self._binary = io.BufferedReader(io.BytesIO(content))
        self.size = len(content)
        self._source = None
        self.damage = None


def open_text(path: str | os.PathLike[str] | TextFile, *, streams: bool = False) -> TextFile:
    """Open plain, gzip or zstd text, detected by content, or standard input for ``-``; return an
    open file unchanged. A file that ``streams``, as text to be parsed and n-best lists do, may be a
    named pipe. Raises InputError if the file cannot be opened."""
    return path if isinstance(path, TextFile) else TextFile(path, streams=streams)


def read_lines(path: str | os.PathLike[str] | TextFile) -> Iterator[str]:
    """Yield every line of a file, each with its line break; open the file for the first line.

    Raises InputError while iterating if the file cannot be opened or read to its end.
    """
    count = 0
    with open_text(path) as file:
        for line in file:
            yield line
            count += 1
        if file.damage is not None:
            raise InputError(f"{file.name}: cannot be read past line {count}: {file.damage}")


def _is_hole(piece: str, longest: int) -> bool:
    """Return whether a piece of a line, of the maximal length, comes from a hole in the file: NUL
    bytes where nothing was ever written. A hole may have terabytes."""
    return piece[0] == "\0" and len(piece) >= longest and not piece.strip("\0")


class _UntilDamage(io.RawIOBase):
    """The bytes of a file, unpacked, up to its end or the first byte that cannot be read."""

    def __init__(self, file: io.BufferedReader, unpacks: bool, fills: bool) -> None:
        """Read from ``file``; with ``fills``, the first read waits for all requested bytes."""
        self._file = file
        self._unpacks = unpacks
        self._fills = fills
        self._content: io.BufferedReader | gzip.GzipFile | _Zstd | None = None
        self.unpacked = 0  # bytes of text read so far
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def end(self, damage: str) -> None:
        """Let nothing more be read."""
        self.damage = damage

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        size = self._read_into(view)
        while self._fills and 0 < size < len(view) and (more := self._read_into(view[size:])):
            size += more
        self._fills = False
        self.unpacked += size
        return size

    def _read_into(self, view: memoryview) -> int:
        if self.damage is not None:
            return 0
        try:
            if self._content is None:
                self._content = _unpacked(self._file) if self._unpacks else self._file
            data = self._content.read1(len(view))
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            self.damage = str(error)
            return 0
        view[: len(data)] = data
        return len(data)


def _unpacked(file: io.BufferedReader) -> io.BufferedReader | gzip.GzipFile | _Zstd:
    magic = file.peek(4)
    if magic.startswith(_GZIP_MAGIC):
        return gzip.GzipFile(fileobj=cast(IO[bytes], _SmallReads(file)))
    return _Zstd(file) if magic.startswith(_ZSTD_MAGIC) else file


class _SmallReads:
    """A file from which gzip reads little at a time, so that the position shows the progress."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, _PACKED))


class _Zstd:
    """The content of one or more zstd frames; unlike the library's reader, it detects an incomplete
    last frame."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._unpacked = memoryview(b"")  # cut without being copied
        self._has_frame = False

    def read1(self, size: int) -> bytes | memoryview:
        while not self._unpacked:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
                self._has_frame = False
            packed = packed or self._file.read1(_PACKED)
            if not packed:
                if self._has_frame:
                    raise EOFError("Compressed file ended before the end-of-stream marker")
                return b""
            self._has_frame = True
            self._unpacked = memoryview(self._frame.decompress(packed))
        data, self._unpacked = self._unpacked[:size], self._unpacked[size:]
        return data
