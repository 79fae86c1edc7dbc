"""Sentences between ``<s>`` and ``</s>``, as BLLIP reads them: ``<s> The dog sleeps . </s>``,
perhaps with a name in the first mark."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from itertools import chain

from reranker.text.splitting import BYTE_ORDER_MARK, LONGEST, Stretch, last_break

OUTSIDE = "outside of <s> and </s>"
"""The problem of words that no marks enclose."""

_SPACES = string.whitespace + BYTE_ORDER_MARK
_LONGEST_MARK = 204  # characters
_MARK = re.compile(r"<s(?:\s[^<>\n]{0,200})?>|</s>")
_UNCLOSED = re.compile(r"<[^<>\n]*\Z")  # it may go on in the next piece of a long line
_BEGINNING = re.compile(r"\s*<s(?:\s[^<>\n]{0,200})?>\s")


def is_marked(head: str) -> bool:
    """Return whether a text begins with a mark and has most of its words between marks, unlike an
    HTML text, where ``<s>`` strikes words out.

    >>> is_marked("<s> He goes . </s> <s> She"), is_marked("<s> He </s> She goes.")
    (True, False)
    """
    if not _BEGINNING.match(head):
        return False
    place = inside = outside = 0
    is_open = False
    for mark in _MARK.finditer(head):
        is_end = mark[0] == "</s>"
        if is_end != is_open:
            return False
        inside += is_end
        outside += not is_open and bool(head[place : mark.start()].strip())
        is_open, place = not is_end, mark.end()
    outside += not is_open and not "<s ".startswith(head[place:].strip()[:3])  # a mark that is cut
    return inside > 2 * outside


def marked_sentences(pieces: Iterable[str]) -> Iterator[tuple[Stretch, str | None]]:
    """Yield the sentences of a text that arrives in lines, long ones in pieces, each with its
    problem, if any. A line break ends no sentence."""
    held, start, line = "", 0, 1
    rest = ""
    is_open = is_cut = False
    for piece in chain(pieces, [None]):
        text, rest = rest + (piece or ""), ""
        if piece is not None and (unclosed := _UNCLOSED.search(text, len(text) - _LONGEST_MARK)):
            text, rest = text[: unclosed.start()], unclosed[0]
        place = 0
        for mark in chain(_MARK.finditer(text), [None]):
            held += text[place : mark.start() if mark else len(text)]
            is_whole = mark is not None or piece is None
            if is_whole or len(held) >= LONGEST:
                end = len(held) if is_whole else last_break(held, 0, LONGEST)
                part = held[:end].rstrip(_SPACES)
                words = part.lstrip(_SPACES)
                if words:
                    lead = len(part) - len(words)
                    at_line = line + held.count("\n", 0, lead)
                    stretch = Stretch(words, start + lead, at_line, is_cut or not is_whole)
                    yield stretch, None if is_open else OUTSIDE
                line += held.count("\n", 0, end)
                held, start, is_cut = held[end:], start + end, not is_whole
            if mark is not None:
                is_open, place = mark[0] != "</s>", mark.end()
                start += len(mark[0])
