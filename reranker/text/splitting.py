"""The sentences of a text's lines, for any input: nothing is lost, and memory is bounded."""

from __future__ import annotations

import logging
import re
import string
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Literal, NamedTuple

from reranker.text.conventions import Convention, full_stops, is_english
from reranker.text.ends import end_table

TextForm = Literal["text", "sentences", "tokens"]
"""Running text; one sentence per line; one sentence per line with a space between words."""

LONGEST = 1 << 15
"""Characters of a sentence; a longer one is cut."""

# Control characters that Python counts as white space are words: they are reported and replaced.
_SPACES = string.whitespace + "".join(
    each for each in map(chr, range(0xA0, 0x3001)) if each.isspace()
)
_BYTE_ORDER_MARK = "\ufeff"  # before the second of two files put together, too

# syntok ends no sentence in a text without any of these characters.
_MAY_END = re.compile(r"[^\w\s,:'\"/-]|\n\s*\n")


class Stretch(NamedTuple):
    """The characters of a sentence in its text."""

    text: str
    start: int
    """The number of characters before the stretch."""
    line: int
    is_cut: bool = False
    """True for a part of a text too long to be a sentence."""


class _Block(NamedTuple):
    """Characters to be split into sentences; if ``is_whole``, no sentence continues beyond the
    block."""

    text: str
    start: int
    line: int
    is_whole: bool
    spaces: str
    """Characters that belong to no word."""

    def part(self, start: int, end: int, is_cut: bool) -> Iterator[Stretch]:
        """Yield the stretch without surrounding white space; nothing if only white space is
        there."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip(self.spaces))
        if start < end:
            line = self.line + self.text.count("\n", 0, start)
            yield Stretch(text.strip(self.spaces), self.start + start, line, is_cut)


def stretches(
    pieces: Iterable[str], form: TextForm, convention: Convention = "gum"
) -> Iterator[Stretch]:
    """Yield the sentences of a text that arrives in lines, long ones in pieces
    (``TextFile.pieces``).

    Running text in English ends by the counts of ``text/ends.py``; in other languages by syntok,
    but not at semicolons, and at full stops without a space behind them, as in Chinese. A blank
    line ends a sentence, too. In a paragraph too long for memory, all sentences but the last are
    yielded before the rest is read.
    """
    # A no-break space between given words is a word.
    spaces = (string.whitespace if form == "tokens" else _SPACES) + _BYTE_ORDER_MARK
    ends = end_table().ends if is_english(convention) else _all_ends
    text, start, line, is_cut = "", 0, 1, False
    for piece in pieces:
        text += piece
        is_whole = piece.endswith("\n") if form != "text" else not piece.strip(spaces)
        if is_whole or len(text) >= LONGEST:
            block = _Block(text, start, line, is_whole, spaces)
            taken, is_cut = yield from _sentences(block, form, is_cut, ends)
            text, start = text[taken:], start + taken
            line += block.text.count("\n", 0, taken)
    yield from _sentences(_Block(text, start, line, True, spaces), form, is_cut, ends)


def _sentences(
    block: _Block, form: TextForm, is_cut: bool, ends_of: Callable[[str], Iterator[int]]
) -> Generator[Stretch, None, tuple[int, bool]]:
    """Yield the sentences of a block; ``is_cut`` says that the block begins inside a sentence that
    was cut. Return the number of characters consumed, and whether the rest begins inside a cut
    sentence."""
    text = block.text
    ends = [*ends_of(text), len(text)] if form == "text" else [len(text)]
    begin = 0
    for end in ends if block.is_whole else ends[:-1]:
        yield from block.part(begin, end, is_cut or end - begin > LONGEST)
        begin, is_cut = end, False
    while not block.is_whole and len(text) - begin >= LONGEST:
        end = _last_break(text, begin, begin + LONGEST)
        yield from block.part(begin, end, is_cut=True)
        begin, is_cut = end, True
    return begin, is_cut


def _last_break(text: str, begin: int, end: int) -> int:
    """Return the position after the last white space before ``end``, or ``end`` itself."""
    place = end
    while place > begin and not text[place - 1].isspace():
        place -= 1
    return place if place > begin else end


def _all_ends(text: str) -> Iterator[int]:
    """Yield the ends in ``_ends``, and full stops without a space behind them."""
    stops = (end for end in full_stops(text) if end < len(text))
    yield from sorted({*_ends(text), *stops})


def _ends(text: str) -> Iterator[int]:
    """Yield the ends of sentences within a text, each at the first word of the next sentence, so
    that characters left out by syntok still belong to a sentence."""
    if not _MAY_END.search(text):  # megabytes of words alone, say: half of the time saved
        return
    from syntok import segmenter

    logging.getLogger("syntok").setLevel(logging.WARNING)
    last = 0
    is_first = True
    for paragraph in segmenter.analyze(text):
        for sentence in paragraph:
            begin = sentence[0].offset if sentence else last
            goes_on = text[max(0, begin - 32) : begin].rstrip().endswith(";")
            if not is_first and last < begin < len(text) and not goes_on:
                yield begin
                last = begin
            is_first = False
