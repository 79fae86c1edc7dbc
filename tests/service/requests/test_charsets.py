"""A body is read in the charset that it is declared to have, or refused."""

from __future__ import annotations

import codecs
from dataclasses import replace

import pytest

from reranker.files import encoding
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.charsets import decoded
from reranker.service.settings import load_settings

LIMITS = Limits.from_settings(load_settings({}))
SAMPLES = ("It runs .", "Café", "Łódź", "Москва", "東京", "서울", "Ελλάδα", "😀")


@pytest.mark.parametrize("codec", sorted(encoding._CODECS))
def test_each_charset_is_read(codec: str) -> None:
    assert encoding.codec_of(codec) == codec and codecs.lookup(codec)
    read = 0
    for text in SAMPLES:
        try:
            body = text.encode(codec)
        except UnicodeEncodeError:
            continue
        assert decoded(body, codec, LIMITS).decode() == text
        read += 1
    assert read


@pytest.mark.parametrize("name", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("declared", [None, "utf_8", "utf_16", "utf_16_le", "latin_1"])
def test_a_byte_order_mark_is_skipped_and_decides(name: str, declared: str | None) -> None:
    assert decoded("{}".encode(name), declared, LIMITS) == b"{}"
    for order in ("le", "be"):
        if name != "utf-8-sig":
            marked = "\ufeffCafé".encode(f"{name}-{order}")
            assert decoded(marked, declared, LIMITS) == "Café".encode()


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
        decoded(body, codec, LIMITS)
    assert (caught.value.status, caught.value.code) == (400, "undecodable")


def test_undeclared_bytes_stay() -> None:
    """The readers say on which line they are."""
    assert decoded(b"Caf\xe9", None, LIMITS) == b"Caf\xe9"


def test_a_body_that_grows_is_limited() -> None:
    limits = replace(LIMITS, max_body_bytes=10)
    assert len(decoded(b"\xe9" * 5, "latin_1", limits)) == 10
    with pytest.raises(RequestError, match="max_body_bytes = 10 ") as caught:
        decoded(b"\xe9" * 6, "latin_1", limits)
    assert caught.value.status == 413
