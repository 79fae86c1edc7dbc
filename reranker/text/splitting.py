"""From the lines of a text to its sentences, for any input: nothing is lost, and memory is
bounded."""

from __future__ import annotations

import logging
import re
import string
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Literal, NamedTuple

from reranker.text.abbreviations import ends_behind, is_behind_stop, no_ends
from reranker.text.conventions import Convention, full_stops, is_english

Form = Literal["text", "sentences", "tokens"]
"""Running text; one sentence per line; one sentence per line with a space between words."""

LONGEST = 1 << 15
"""Characters of a sentence; a longer one is cut."""

# Control characters that Python counts as white space are words, since they are named and replaced.
_SPACES = string.whitespace + "".join(
    each for each in map(chr, range(0xA0, 0x3001)) if each.isspace()
)

# No sentence of syntok's ends in a text without any of these: a few signs are known not to end one.
_MAY_END = re.compile(r"[^\w\s,:'\"/-]|\n\s*\n")


class Stretch(NamedTuple):
    """The characters of a sentence in its text."""

    text: str
    start: int
    """Characters before it."""
    line: int
    is_cut: bool = False
    """Whether it is part of something too long to be a sentence."""


class _Block(NamedTuple):
    """Characters to be split into sentences; if it ``is_whole``, none continues beyond it."""

    text: str
    start: int
    line: int
    is_whole: bool
    spaces: str
    """Characters that belong to no word."""

    def part(self, start: int, end: int, is_cut: bool) -> Iterator[Stretch]:
        """The stretch without surrounding white space; None if there is nothing else."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip(self.spaces))
        if start < end:
            line = self.line + self.text.count("\n", 0, start)
            yield Stretch(text.strip(self.spaces), self.start + start, line, is_cut)


def stretches(
    pieces: Iterable[str], form: Form, convention: Convention = "gum"
) -> Iterator[Stretch]:
    """The sentences of a text that arrives in lines, long ones in pieces (``TextFile.pieces``).

    Running text is split by syntok, but not at semicolons. A blank line ends a sentence, too; in
    English so do abbreviations before a word with which sentences begin, but not *Oct.* before a
    number or *Dr.* before a name; and in other languages full stops that no space follows, as in
    Chinese. For a paragraph too long for memory, all sentences but the last are returned before the
    rest is read.
    """
    # A no-break space between given words is one of them.
    spaces = string.whitespace if form == "tokens" else _SPACES
    ends = _english_ends if is_english(convention) else _all_ends
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
    block: _Block, form: Form, is_cut: bool, ends_of: Callable[[str], Iterator[int]]
) -> Generator[Stretch, None, tuple[int, bool]]:
    """The sentences of a block; ``is_cut`` says that it begins inside a sentence that was cut.
    Returns how many characters are consumed, and whether the rest begins inside one."""
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
    """The position after the last white space before ``end``, or ``end`` itself."""
    place = end
    while place > begin and not text[place - 1].isspace():
        place -= 1
    return place if place > begin else end


def _english_ends(text: str) -> Iterator[int]:
    """Those of ``_ends`` behind a full stop, and those behind abbreviations, where these end a
    sentence at all."""
    found = {end for end in _ends(text) if is_behind_stop(text, end)}.union(ends_behind(text))
    yield from sorted(found.difference(no_ends(text)))


def _all_ends(text: str) -> Iterator[int]:
    """Those of ``_ends``, and full stops without a space behind them."""
    stops = (end for end in full_stops(text) if end < len(text))
    yield from sorted({*_ends(text), *stops})


def _ends(text: str) -> Iterator[int]:
    """The ends of sentences within a text: at the first word of the next one, so that characters
    syntok leaves out still belong to a sentence."""
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
