"""Text files as UTF-8, whatever their encoding: the one that a command was told, or UTF-8, or else
Windows-1252, of which Latin-1's letters are a part."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from reranker.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WINDOWS = "cp1252"
READ_AS_WINDOWS = "not UTF-8: read as Windows-1252"
_CHUNK = 1 << 16
# Controls, bytes that Windows-1252 does not have, and 0xff, which fills files but no words.
_NOT_WINDOWS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d\xff]")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)
_DECLARES = re.compile(rb"\s*<\?xml\s[^>]*encoding")  # the reader of XML decodes
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_BEGUN = re.compile(rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z")
_MOST_HIGH = 4  # one byte in so many: texts of other scripts have more

_told: str | None = None
_named: set[str] = set()  # files that were reported
_ERRORS = "surrogateescape"


@contextlib.contextmanager
def encoding(name: str | None) -> Iterator[None]:
    """Let all text files be read in an encoding, None: in what they are in. Raises InputError for
    a name that Python does not know."""
    global _told
    if name is not None:
        try:
            is_text = codecs.lookup(name)._is_text_encoding
        except LookupError:
            is_text = False
        if not is_text:
            raise InputError(
                f"--encoding {name!r:.40}: no encoding of text, such as cp1252 or koi8-r"
            )
    before, _told = _told, name
    _named.clear()
    try:
        yield
    finally:
        _told = before


def first_time(file: str) -> bool:
    """Return whether a file is reported for the first time: a command opens some files twice."""
    is_first = file not in _named
    _named.add(file)
    return is_first


def is_windows(content: bytes) -> bool:
    """Return whether bytes are Windows-1252 rather than UTF-8 or no text: most of the bytes beyond
    ASCII are in no sequence of UTF-8.

    >>> [is_windows(text.encode(name)) for text, name in
    ...     (("Café", "cp1252"), ("Café", "utf-8"), ("кафе", "koi8-r"))]
    [True, False, False]
    """
    if content.isascii() or content.startswith(_MARKS) or _DECLARES.match(content):
        return False
    sequences = _SEQUENCE.findall(content)
    high = sum(each > 0x7F for each in content)
    wrong = high - sum(map(len, sequences))
    return (
        wrong > len(sequences)
        and (high == 1 or _MOST_HIGH * high <= len(content))
        and not _NOT_WINDOWS.search(content)
    )


def as_utf8(content: bytes) -> bytes:
    """Return bytes as UTF-8 if they are Windows-1252, else as they are."""
    return content.decode(WINDOWS).encode() if is_windows(content) else content


class AsUtf8(io.RawIOBase):
    """The bytes of a file in UTF-8. Bytes in no encoding stay as they are."""

    def __init__(self, source: io.RawIOBase, report: Callable[[str], None]) -> None:
        """Read from ``source``; ``report`` is called if the file is read as Windows-1252."""
        self._source, self._report = source, report
        self._decoder = None if _told is None else codecs.getincrementaldecoder(_told)(_ERRORS)
        self._is_known = False  # whether the file is UTF-8
        self._ready = memoryview(b"")
        self._rest = b""  # the beginning of a sequence of UTF-8

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        if self._is_known and not self._ready:
            return self._source.readinto(view) or 0
        while not self._ready:
            content = bytearray(_CHUNK)
            size = self._source.readinto(content) or 0
            whole, self._rest = _whole_sequences(self._rest + bytes(content[:size]), not size)
            self._ready = memoryview(self._recoded(whole, not size))
            if not size:
                break
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _recoded(self, content: bytes, is_end: bool) -> bytes:
        if self._decoder is not None:
            return self._decoder.decode(content, is_end).encode("utf-8", _ERRORS)
        if content.isascii():
            return content
        if is_windows(content):
            self._report(f"{READ_AS_WINDOWS} (--encoding chooses)")
            self._decoder = codecs.getincrementaldecoder(WINDOWS)(_ERRORS)
            return self._decoder.decode(content, is_end).encode("utf-8", _ERRORS)
        self._is_known = True
        return content


def _whole_sequences(content: bytes, is_end: bool) -> tuple[bytes, bytes]:
    """Return bytes without the sequence that begins at their end, and the sequence."""
    begun = None if is_end else _BEGUN.search(content)
    return (content, b"") if begun is None else (content[: begun.start()], begun[0])
