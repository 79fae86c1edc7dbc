"""A body is read in the charset that it is declared to have, or refused."""

from __future__ import annotations

import codecs
from dataclasses import replace

import pytest

from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests import charsets
from reranker.service.requests.charsets import as_utf8, codec_of
from reranker.service.settings import load_settings

LIMITS = Limits.from_settings(load_settings({}))
SAMPLES = ("It runs .", "Café", "Łódź", "Москва", "東京", "서울", "Ελλάδα", "😀")


@pytest.mark.parametrize(
    "charset, codec",
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
        # Python has these, but not as charsets of texts, or they take long.
        ("unicode_escape", None),
        ("punycode", None),
        ("rot13", None),
        ("zlib", None),
        ("utf-7", None),
        ("../evil", None),
    ],
)
def test_names_of_charsets(charset: str, codec: str | None) -> None:
    assert codec_of(charset) == codec


@pytest.mark.parametrize("codec", sorted(charsets._CODECS))
def test_each_charset_is_read(codec: str) -> None:
    assert codec_of(codec) == codec and codecs.lookup(codec)
    read = 0
    for text in SAMPLES:
        try:
            body = text.encode(codec)
        except UnicodeEncodeError:
            continue
        assert as_utf8(body, codec, LIMITS).decode() == text
        read += 1
    assert read


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("declared", [None, "utf_8", "utf_16", "utf_16_le", "latin_1"])
def test_a_byte_order_mark_is_skipped_and_decides(encoding: str, declared: str | None) -> None:
    assert as_utf8("{}".encode(encoding), declared, LIMITS) == b"{}"
    for order in ("le", "be"):
        if encoding != "utf-8-sig":
            marked = "\ufeffCafé".encode(f"{encoding}-{order}")
            assert as_utf8(marked, declared, LIMITS) == "Café".encode()


@pytest.mark.parametrize(
    "body, codec, offset",
    [
        (b"Caf\xe9", "utf_8", "offset 3: 0xe9"),
        (b"Caf\xe9", "ascii", "offset 3: 0xe9"),
        ("Café".encode("utf-16-le")[:-1], "utf_16_le", "offset 6: 0xe9"),
        (b"a\x81", "cp1252", "offset 1: 0x81"),
        (b"{\x00}\x00", "utf_16", "begins with a byte order mark"),
    ],
)
def test_a_body_that_is_not_in_its_charset(body: bytes, codec: str, offset: str) -> None:
    with pytest.raises(RequestError, match=offset) as caught:
        as_utf8(body, codec, LIMITS)
    assert (caught.value.status, caught.value.code) == (400, "undecodable")


def test_undeclared_bytes_stay() -> None:
    """The readers say on which line they are."""
    assert as_utf8(b"Caf\xe9", None, LIMITS) == b"Caf\xe9"


def test_a_body_that_grows_is_limited() -> None:
    limits = replace(LIMITS, max_body_bytes=10)
    assert len(as_utf8(b"\xe9" * 5, "latin_1", limits)) == 10
    with pytest.raises(RequestError, match="max_body_bytes = 10 ") as caught:
        as_utf8(b"\xe9" * 6, "latin_1", limits)
    assert caught.value.status == 413
