"""Bodies and requests that are small to send and large to read, or not what they should be."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import NamedTuple

MEGABYTE = 2**20
LARGEST = 16 * MEGABYTE  # max_body_bytes
LEAF = "(S1 (NP (NN a)))"
DEEP = "(S1 " + "(NP " * 490 + "(NN a)" + ")" * 491


class Bomb(NamedTuple):
    path: str
    media: str
    body: bytes


def filled(start: str, piece: str, end: str, length: int = LARGEST) -> bytes:
    """Return as many pieces as fit into so many bytes."""
    count = (length - len(start) - len(end)) // len(piece.encode())
    return f"{start}{piece * count}{end}".encode()


def _json(start: str, piece: str, end: str, length: int = LARGEST) -> Callable[[], Bomb]:
    return lambda: Bomb("/rerank", "application/json", filled(start, piece, end, length))


def _text(start: str, piece: str, end: str = "", length: int = LARGEST) -> Callable[[], Bomb]:
    return lambda: Bomb("/rerank", "text/plain", filled(start, piece, end, length))


def _names() -> Bomb:
    """Return an object with a quarter of a million names, none twice."""
    names = ", ".join(f'"{number}": 0' for number in range(240_000))
    return Bomb("/score", "application/json", f'{{"trees": [], "x": {{{names}}}}}'.encode())


BOMBS: dict[str, Callable[[], Bomb]] = {
    "a million empty documents": _json('{"documents": [', '"", ', '""]}', 4 * MEGABYTE),
    "a million empty sentences": _json('{"sentences": [', '{"candidates": []}, ', "{}]}"),
    "arrays in arrays": _json('{"sentences": ', "[", ""),
    "objects in objects": _json("", '{"sentences": ', ""),
    "empty arrays": _json('{"sentences": [{"tokens": [', "[], ", "[]]}]}"),
    "numbers": _json('{"sentences": [{"tags": [', "1e308, ", "0]}]}"),
    "as many values as are legal": _json('{"x": [', "0, ", "0]}", 3 * 499_000),
    "a long number": _json('{"lm_weight": ', "7", "}"),
    "a long string": _json('{"nbest": "', "a", '"}'),
    "a long escaped string": _json('{"nbest": "', "\\u0041\\n", '"}'),
    "a long name": _json('{"', "a", '": 0}'),
    "a long tree": _json('{"documents": ["(S1 ', "(NN a) ", ')"]}'),
    "legal deep trees": _json('{"documents": [', f'"{DEEP}", ', f'"{LEAF}"]}}', 2 * MEGABYTE),
    "trees too deep": _json('{"sentences": [{"candidates": ["', "(S ", '"]}]}', 199_000),
    "many legal sentences": _json(
        '{"sentences": [', '{"candidates": ["", ' + f'"{LEAF}", ' * 89 + '""]}, ', "{}]}"
    ),
    "names of fields": _names,
    "one list of a long text": _text("400000\tx\n", f"-1.5\n{LEAF}\n"),
    "many lists of a long text": _text("", f"1\tx\n-1.5\n{LEAF}\n\n"),
    "empty lines": _text("", "\n"),
    "a line without an end": _text("1\tx\n-1\n", "(S1 "),
    "a legal text of deep trees": _text("900\tx\n", f"-1\n{DEEP}\n", length=2 * MEGABYTE),
    "bytes that are no text": lambda: Bomb("/rerank", "text/plain", b"\xff\xfe\x00" * MEGABYTE),
    "noise": lambda: Bomb("/rerank", "application/json", random.Random(1).randbytes(MEGABYTE)),
    "lists to validate": lambda: Bomb(
        "/validate", "text/plain", filled("", f"2\tx\n-1\n{LEAF}\n-2\n{LEAF}\n\n", "", MEGABYTE)
    ),
}

_HIDDEN = "(S XX )S"  # each gets the words of the sentence


def _product(path: str = "/rerank", **fields: object) -> Callable[[], Bomb]:
    return lambda: Bomb(path, "application/json", json.dumps(fields).encode())


# Bodies of at most 36 kB whose lists would be the product of two sizes.
PRODUCTS: dict[str, Callable[[], Bomb]] = {
    "documents and query": _product(query="a " * 12_000, documents=[_HIDDEN] * 1000),
    "a query of legal length": _product(query="a " * 1400, documents=[_HIDDEN] * 1000),
    "candidates and tokens": _product(
        sentences=[{"tokens": ["a"] * 1400, "candidates": [_HIDDEN] * 999}]
    ),
    "candidates and the first one": _product(
        sentences=[{"candidates": [f"(S {'a ' * 1400})S"] + [_HIDDEN] * 999}] * 2
    ),
    "an n-best text and tokens": _product(
        nbest=f"0 ||| -1 ||| {_HIDDEN}\n" * 999, tokens="a " * 1400
    ),
    "broken trees and tokens": _product(
        nbest="999\tx\n" + "-1\n(S (NN a)\n" * 999, tokens="a " * 1400, repair=True
    ),
    "JSON lines": _product(
        nbest=json.dumps({"tokens": ["a"] * 1400, "candidates": [_HIDDEN] * 999}) + "\n"
    ),
    "lists to validate": _product("/validate", query="a " * 12_000, documents=[_HIDDEN] * 1000),
    "candidates and a long word": _product(
        sentences=[{"tokens": ["b" * 25_000], "candidates": ["(X a)"] * 999}]
    ),
}

_HEAD = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MALFORMED: dict[str, bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    "no version": b"GET /info\r\n\r\n",
    "a version to come": b"GET /info HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /info HTTP/1.1\r\n\r\n",
    "a line of 100 kB": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "headers of 100 kB": b"GET /info HTTP/1.1\r\n" + b"X-A: b\r\n" * 12_500 + b"\r\n",
    "a header without a name": b"GET /info HTTP/1.1\r\nHost: localhost\r\n: y\r\n\r\n",
    "a negative length": _HEAD + b"Content-Length: -1\r\n\r\n{}",
    "two lengths": _HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "a length that is not a number": _HEAD + b"Content-Length: 1e3\r\n\r\n{}",
    "length and chunks": _HEAD
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a chunk of no number": _HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "an endless chunk": _HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    "an unknown encoding": _HEAD + b"Transfer-Encoding: rot13\r\n\r\n{}",
    "compressed": _HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
    "an unknown method": b"BREW /rerank HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "an unknown path": (
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ),
    "bytes in the path": b"GET /\xff\x00%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a wish for another protocol": b"GET /info HTTP/1.1\r\nHost: localhost\r\n"
    b"Connection: close, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    "an expectation": _HEAD + b"Expect: 100-continue\r\nConnection: close\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "an odd deadline": _HEAD + b"X-Request-Timeout: nan\r\nConnection: close\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "no deadline at all": _HEAD + b"X-Request-Timeout: 1e-9\r\nConnection: close\r\n"
    b"Content-Length: 20\r\n\r\n{}" + b" " * 18,
    "ten at once": b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" * 9
    + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
}
