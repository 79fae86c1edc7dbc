"""Files in other encodings than UTF-8."""

from __future__ import annotations

import gzip
import io
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.encoding import AsUtf8, as_utf8, encoding, is_windows
from reranker.files.text import open_text

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
        content = io.BufferedReader(AsUtf8(Slow(TEXT.encode(name)), lambda _: None)).read()  # type: ignore[arg-type]
        assert content.decode() == TEXT


def test_packed_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress("\u043a\u0430\u0444\u0435\n".encode("koi8-r")))
    with encoding("koi8-r"):
        assert lines(path) == ["\u043a\u0430\u0444\u0435\n"]
    for name in ("no-such", "hex"):
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
