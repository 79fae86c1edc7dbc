"""Text files as UTF-8, whatever their encoding: the one that a command was told, or UTF-8, or else
Windows-1252, of which Latin-1's letters are a part."""

from __future__ import annotations

import codecs
import contextlib
import encodings
import io
import re
from collections.abc import Callable, Iterator
from encodings.aliases import aliases
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

# Names of Python's codecs. None of them can make a text more than three times as long.
_CODECS = frozenset(
    [
        *("ascii", "utf_8", "utf_8_sig", "latin_1", "koi8_r", "koi8_t", "koi8_u", "tis_620"),
        *("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"),
        *(f"iso8859_{part}" for part in (*range(2, 12), *range(13, 17))),
        *(f"cp{page}" for page in (437, 720, 737, 775, 850, 852, 855, 857, 858, 869, 874)),
        *(f"cp{page}" for page in (*range(860, 867), 1125, *range(1250, 1259))),
        *(f"mac_{script}" for script in ("cyrillic", "greek", "latin2", "roman", "turkish")),
        *("gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs", "cp950"),
        *("shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949", "johab"),
    ]
)

_told: str | None = None
_named: set[str] = set()  # files that were reported
_ERRORS = "surrogateescape"


@contextlib.contextmanager
def encoding(name: str | None) -> Iterator[None]:
    """Let all text files be read in an encoding, None: in what they are in. Raises InputError for
    a name that is not known."""
    global _told
    codec = None if name is None else codec_of(name)
    if codec is None and name is not None:
        raise InputError(f"--encoding {name!r:.40}: no encoding of text, such as cp1252 or koi8-r")
    before, _told = _told, codec
    _named.clear()
    try:
        yield
    finally:
        _told = before


def codec_of(name: str) -> str | None:
    """Return the name of Python's codec for an encoding, or None for one that is not read.

    Python itself would remember every name that it is asked for, import a module of that name, and
    find codecs that are of no files.
    """
    name = encodings.normalize_encoding(name).lower()
    name = aliases.get(name, name)
    return name if name in _CODECS else None


def told() -> str | None:
    """Return the encoding that a command was told its files are in, whatever these declare."""
    return _told


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
    """The bytes of a file in UTF-8. Bytes in no encoding stay as they are; one that would be ASCII
    has no place in a text, and ends the file."""

    def __init__(
        self, source: io.RawIOBase, report: Callable[[str], None], end: Callable[[str], None]
    ) -> None:
        """Read from ``source``. ``report`` is called if the file is read as Windows-1252, ``end``
        with the reason why its rest cannot be read; ``source`` then has nothing more."""
        self._source, self._report, self._end = source, report, end
        self._decoder = None if _told is None else codecs.getincrementaldecoder(_told)(_ERRORS)
        self._is_known = False  # whether the file stays as it is
        self._read = 0  # bytes that were decoded
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
            recoded = self._recoded(whole, not size)
            if self._is_known:
                recoded, self._rest = recoded + self._rest, b""
            self._ready = memoryview(recoded)
            if not size:
                break
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _recoded(self, content: bytes, is_end: bool) -> bytes:
        is_first, self._read = not self._read, self._read + len(content)
        if self._decoder is None and is_windows(content):
            self._report(f"{READ_AS_WINDOWS} (--encoding chooses)")
            self._decoder = codecs.getincrementaldecoder(WINDOWS)(_ERRORS)
        if self._decoder is not None:
            return self._decoded(self._decoder, content, is_end).encode("utf-8", _ERRORS)
        # What an XML file declares holds for letters of any distance.
        self._is_known = not content.isascii() or (
            is_first and _DECLARES.match(content) is not None
        )
        return content

    def _decoded(self, decoder: codecs.IncrementalDecoder, content: bytes, is_end: bool) -> str:
        state = decoder.getstate()
        try:
            return decoder.decode(content, is_end)
        except UnicodeError as error:
            begun = len(state[0])
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            reason = error.reason if isinstance(error, UnicodeDecodeError) else error
            offset = self._read - len(content) - begun + start
            self._end(f"not {_told} at byte {offset}: {reason}".replace("_", "-"))
            self._decoder, self._rest, self._is_known = None, b"", True
            decoder.setstate(state)
            return decoder.decode(content[: max(start - begun, 0)])


def _whole_sequences(content: bytes, is_end: bool) -> tuple[bytes, bytes]:
    """Return bytes without the sequence that begins at their end, and the sequence."""
    begun = None if is_end else _BEGUN.search(content)
    return (content, b"") if begun is None else (content[: begun.start()], begun[0])
