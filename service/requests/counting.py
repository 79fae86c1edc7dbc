"""Counts what is in a body while its bytes arrive, before anything is made of them.

A million empty strings are 3 MB of JSON and seconds of work. Only the outline is looked at:
brackets, commas, colons, how long strings are and which name an array has. Whether it is JSON at
all is left to the parser, which finds no more in it than was counted here.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from reranker.service.errors import over_limit
from reranker.service.settings import Settings

# A string, perhaps cut off at the end of the piece; or a character of the outline.
_OUTLINE = re.compile(rb'"(?:[^"\\]++|\\.)*+(?P<end>"?)|[][{},:]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+(?P<end>"?)', re.DOTALL)
_LONGEST_NAME = 16


class Count(Protocol):
    """Of what a body has."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes; raises ServiceError 422 as soon as there is too much of anything."""


def of(media: str, settings: Settings) -> Count:
    """For a body of this media type."""
    return LineCount(settings) if media == "text/plain" else OutlineCount(settings)


class LineCount:
    """Of an n-best text."""

    def __init__(self, settings: Settings) -> None:
        self._most, self._lines = settings.max_values, 0

    def feed(self, piece: bytes) -> None:
        self._lines += piece.count(b"\n")
        check_lines(self._lines, self._most)


def check_lines(lines: int, most: int) -> None:
    """Raises ServiceError 422."""
    if lines > most:
        raise over_limit("max_values", most, f"a text of more than {most} lines", "nbest")


class _Limit(NamedTuple):
    setting: str
    most: int
    what: str


class _Container:
    """An object or array that is open."""

    __slots__ = ("commas", "limit", "name", "path")

    def __init__(self, path: tuple[bytes, ...], limit: _Limit | None) -> None:
        self.path, self.limit = path, limit
        self.commas = 0
        self.name = b""  # of the field that comes next


class OutlineCount:
    """Of a JSON body."""

    def __init__(self, settings: Settings) -> None:
        sentences = _Limit("max_sentences", settings.max_sentences, "sentences")
        candidates = _Limit("max_candidates", settings.max_candidates, "candidates")
        self._limits = {
            (b"sentences",): sentences,
            (b"trees",): sentences,
            (b"tokens",): sentences,
            (b"documents",): candidates,
            (b"texts",): candidates,
            (b"sentences", b"candidates"): candidates,
        }
        self._most_values, self._most_bytes = settings.max_values, settings.max_tree_bytes
        self._values = 0  # and names of fields
        self._open = [_Container((), None)]
        self._string = b""  # the last one, if it may be a name
        self._string_bytes = 0
        self._is_in_string = self._is_escaped = False

    def feed(self, piece: bytes) -> None:
        if not piece:
            return
        start = self._continue_string(piece) if self._is_in_string else 0
        for match in _OUTLINE.finditer(piece, start):
            token = match[0]
            if token[:1] != b'"':
                self._take(token)
                continue
            self._string = token[1:-1] if len(token) < _LONGEST_NAME else b""
            self._string_bytes = len(token)
            self._check_string()
            if not match["end"]:
                self._is_in_string = True
                self._is_escaped = match.end() < len(piece)  # a backslash is left over
                return

    def _continue_string(self, piece: bytes) -> int:
        """Where in ``piece`` the string ends."""
        match = _REST_OF_STRING.match(piece, int(self._is_escaped))
        assert match is not None  # it can be empty
        self._string = b""  # a name that is cut off is not recognised: only ``max_values`` holds
        self._string_bytes += match.end()
        self._check_string()
        self._is_in_string = not match["end"]
        self._is_escaped = self._is_in_string and match.end() < len(piece)
        return len(piece) if self._is_in_string else match.end()

    def _check_string(self) -> None:
        # Strings on the outside are whole texts.
        if self._string_bytes > self._most_bytes and self._open[-1].path:
            many = f"a string of {self._string_bytes} bytes or more"
            raise over_limit("max_tree_bytes", self._most_bytes, many, self._field)

    def _take(self, token: bytes) -> None:
        container = self._open[-1]
        if token in b"]}":
            if len(self._open) > 1:
                self._open.pop()
            return
        self._values += 1
        if self._values > self._most_values:
            many = f"a body of more than {self._most_values} values"
            raise over_limit("max_values", self._most_values, many, self._field)
        if token == b",":
            container.commas += 1
            self._check_array(container)
        elif token == b":":
            container.name = self._string
        else:
            path = container.path
            if container.name and len(path) < 2:
                path = (*path, container.name)
            self._open.append(_Container(path, self._limits.get(path) if token == b"[" else None))

    def _check_array(self, array: _Container) -> None:
        if array.limit is not None and array.commas >= array.limit.most:
            limit = array.limit
            # Open are: what is around the body, the body, its sentences.
            is_of_sentence = len(array.path) == 2
            place = f"sentence {self._open[2].commas} with " if is_of_sentence else ""
            many = f"{place}more than {limit.most} {limit.what}"
            raise over_limit(limit.setting, limit.most, many, self._field)

    @property
    def _field(self) -> str | None:
        path = self._open[-1].path
        return path[0].decode("utf-8", "replace") if path else None
