"""Files in other encodings than UTF-8."""

from __future__ import annotations

import gzip
import io
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.encoding import AsUtf8, as_utf8, codec_of, encoding, is_windows
from reranker.files.text import encoding_fault, open_text

TEXT = "Krak\u00f3w \u201cyes\u201d \u2013 caf\u00e9.\n"


def lines(path: Path) -> list[str]:
    with open_text(path) as file:
        return [*file]


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("before", [0, 1, 65_535, 65_536, 200_000])
def test_utf8_and_windows_are_found_wherever_they_begin(
    name: str, before: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "t.txt"
    path.write_bytes((before * "x" + "\n" + 3 * TEXT).encode(name))
    with encoding(None):
        assert lines(path) == [before * "x" + "\n", *3 * [TEXT]]
        assert lines(path)[1:] == 3 * [TEXT]
    said = [f"{path}: not UTF-8: read as Windows-1252 (--encoding chooses)"]
    assert caplog.messages == (said if name == "cp1252" else [])


def test_sequences_that_are_cut_by_the_end_of_a_read() -> None:
    class Slow(io.BytesIO):
        def readinto(self, buffer: object) -> int:
            byte = self.read(1)
            memoryview(buffer)[: len(byte)] = byte  # type: ignore[arg-type]
            return len(byte)

    for name in ("utf-8", "cp1252"):
        content = io.BufferedReader(AsUtf8(Slow(TEXT.encode(name)), print, print)).read()  # type: ignore[arg-type]
        assert content.decode() == TEXT


@pytest.mark.parametrize(
    "name, codec",
    [
        ("utf-8", "utf_8"),
        ("UTF8", "utf_8"),
        ("ISO-8859-1", "latin_1"),
        ("latin1", "latin_1"),
        ("US-ASCII", "ascii"),
        ("Windows-1252", "cp1252"),
        ("utf-16le", "utf_16_le"),
        ("Shift_JIS", "shift_jis"),
        ("", None),
        ("klingon", None),
        # Python has these, but not as encodings of texts, or they take long.
        ("unicode_escape", None),
        ("punycode", None),
        ("rot13", None),
        ("zlib", None),
        ("utf-7", None),
        ("idna", None),
        ("undefined", None),
        ("latin\0one", None),
        ("../evil", None),
    ],
)
def test_names_of_encodings(name: str, codec: str | None) -> None:
    assert codec_of(name) == codec


@pytest.mark.parametrize("before", range(65_530, 65_538))
@pytest.mark.parametrize("letter", ["\u00e9", "\u20ac", "\U0001f600"])
def test_utf8_keeps_a_letter_at_the_end_of_a_read(before: int, letter: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(text := f"{letter}{before * 'x'}{3 * letter}.\n", "utf-8")
    for name in (None, "utf-8", "latin-1"):
        with encoding(name):
            assert lines(path) == [text if name != "latin-1" else text.encode().decode("latin-1")]


@pytest.mark.parametrize(
    ("name", "content", "good", "fault"),
    [
        ("utf-16", b"plain\n", [], "not utf-16 at byte 0: UTF-16 stream does not start with BOM"),
        ("utf-32", b"plain\n", [], "not utf-32 at byte 0: code point"),
        ("utf-32-le", b"a\0\0\0\n\0\0\0plain\n", ["a\n"], "not utf-32-le at byte 8: code point"),
        ("utf-16-le", b"a\0\n\0b\0\0\xd8c\0", ["a\n", "b"], "not utf-16-le at byte 6: illegal"),
        ("utf-16-le", b"a\0\n\0b", ["a\n"], "not utf-16-le at byte 4: truncated data"),
        ("tis-620", b"a\n\xff", ["a\n", "\udcff"], None),
        ("cp1252", b"a\n\x81", ["a\n", "\udc81"], None),
    ],
)
@pytest.mark.parametrize("before", [0, 65_535, 200_000])
def test_a_file_that_is_not_in_the_encoding_ends_there(
    name: str, content: bytes, good: list[str], fault: str | None, before: int, tmp_path: Path
) -> None:
    path = tmp_path / "t.txt"
    if name.endswith("-le") or name.endswith("-be"):
        filled = (before * "x" + "\n").encode(name)
    elif name in ("utf-16", "utf-32"):
        filled, before = b"", 0
    else:
        filled = before * b"x" + b"\n"
    path.write_bytes(filled + content)
    with encoding(name), open_text(path) as file:
        assert [*file] == ([before * "x" + "\n"] if filled else []) + good
        wrong = encoding_fault(*good[-1:] or [""])
    if fault is None:
        assert file.damage is None and wrong == f"byte 0x{content[-1]:02x} is not {name}"
    else:
        start, number, end = fault.partition(" at byte ")
        offset, _, reason = end.partition(":")
        assert file.damage is not None
        assert file.damage.startswith(f"{start}{number}{len(filled) + int(offset)}:{reason}")


def test_packed_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress("\u043a\u0430\u0444\u0435\n".encode("koi8-r")))
    with encoding("koi8-r"):
        assert lines(path) == ["\u043a\u0430\u0444\u0435\n"]
    for name in ("no-such", "hex", "idna", "undefined", "punycode", "utf-7", "latin\0one", ""):
        with pytest.raises(InputError, match="no encoding of text"), encoding(name):
            pass


@pytest.mark.parametrize(
    "content",
    [
        b"one \xff byte",  # fills files, and is in no word
        "\u043a\u0430\u0444\u0435".encode("koi8-r"),  # most bytes are not ASCII
        "caf\u00e9 caf\u00e9 ".encode() + b"\xe9",  # UTF-8 with a wrong byte
        b"\x00caf\xe9 in a file",  # no text
        b"caf\xe9 \x8d in no encoding",
        "\ufeffcaf\u00e9".encode("utf-16-le"),
        b'<?xml version="1.0" encoding="ISO-8859-1"?><a>caf\xe9</a>',  # says what it is
        b"plain",
    ],
)
def test_other_bytes_stay_as_they_are(content: bytes) -> None:
    assert not is_windows(content)
    assert as_utf8(content) == content
