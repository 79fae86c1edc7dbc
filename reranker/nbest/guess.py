"""What a file that holds no n-best lists looks like, for the error that refuses it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reranker.errors import InputError
from reranker.nbest.faithful import printable

_SHOWN = 60
_LOOKED_AT = 4096  # bytes

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7-Zip",
}
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"SQLite format 3\0": "an SQLite database",
    b"\x7fELF": "a program",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_CONLL = re.compile(r"[0-9]+(?:-[0-9]+)?\t\S[^\t]*(?:\t[^\t]*){4,}")
_JSON_ARRAY = re.compile(r'\[\s*(?:[\[\]{"]|$)')
_LETTERS = re.compile(r"[^\W\d_]{2}")


def not_nbest(
    name: str, head: Sequence[str], line: int, text: str, expected: str = ""
) -> InputError:
    """The error for a file whose line ``line`` holds ``text`` where n-best lists should be.

    Its message says what the head looks like or, if nothing is known of it, what is ``expected``.
    """
    reason = guess(head) or f"expected {expected or 'the lists of a known format'}"
    text = printable(text.strip()[:_SHOWN])
    return InputError(f"{name}:{line}: not an n-best list: {reason}; found {text!r}")


def guess(head: Sequence[str]) -> str:
    """What a file with these first lines looks like and what to do about it, or ''."""
    start = "".join(head)[:_LOOKED_AT].encode("utf-8", "surrogateescape")
    if kind := _packed(start):
        return f"looks like a {kind} file: unpack it first"
    if _is_utf_16(start):
        return "looks like UTF-16: convert it to UTF-8 first"
    if kind := _binary(start):
        return f"looks like binary data{f' ({kind})' if kind != 'unknown' else ''}"
    lines = [line.strip() for line in head if line.strip()]
    first = lines[0] if lines else ""
    if _JSON_ARRAY.match(first):
        return "looks like JSON, but format jsonl has one object a line"
    if re.match(r"<[?!a-zA-Z]", first) and not first.startswith(("<s>", "<unk>")):
        return "looks like XML or HTML"
    if sum(bool(_CONLL.match(line)) for line in lines) > len(lines) / 2:
        return "looks like CoNLL columns: their dependencies are not constituency trees"
    if 2 * sum(map(_is_prose, lines)) > len(lines):
        return "looks like plain sentences: parse them first"
    return ""


def _is_prose(line: str) -> bool:
    """Whether a line has words, and not as many brackets as a tree would have."""
    return bool(_LETTERS.search(line)) and 4 * line.count("(") < len(line.split())


def _packed(start: bytes) -> str:
    return next((kind for magic, kind in _PACKED.items() if start.startswith(magic)), "")


def _is_utf_16(start: bytes) -> bool:
    """By its byte order mark, or since every other byte of ASCII text is zero in it."""
    if start.startswith(_UTF_16):
        return True
    return any(
        len(half) > 3 and 10 * half.count(0) > 9 * len(half) and 10 * other.count(0) < len(other)
        for half, other in ((start[::2], start[1::2]), (start[1::2], start[::2]))
    )


def _binary(start: bytes) -> str:
    """What kind of binary data; ``unknown`` if it is some other, '' if it is text."""
    if (start.startswith(b"PK\x03\x04") and b"/data.pkl" in start[:200]) or (
        _PICKLE.match(start) and b"torch" in start
    ):
        return "a PyTorch checkpoint"
    for magic, kind in _BINARY.items():
        if start.startswith(magic):
            return kind
    if _PICKLE.match(start):
        return "a Python pickle"
    return "unknown" if 20 * len(_CONTROL.findall(start)) > len(start) else ""
