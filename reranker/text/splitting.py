"""The sentences of a text's lines, for any input: nothing is lost, and memory is bounded."""

from __future__ import annotations

import logging
import re
import string
from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Literal, NamedTuple

from reranker.text.conventions import Convention, full_stops, is_english
from reranker.text.ends import end_table, item_numbers
from reranker.text.layout import (
    Layout,
    Turn,
    has_doubtful_break,
    is_doubtful,
    item_mark,
    layout_of,
    line_ends,
    markup,
    masked,
    turns,
)

TextForm = Literal["text", "prose", "sentences", "tokens"]
"""Running text; running text whose ends of lines end no sentence; one sentence per line; one
sentence per line with a space between words."""

Reading = Literal["prose", "sentences", "no speakers"]
"""A reading of a text that can be chosen instead of the one that was found."""
CHOICES: Mapping[Reading, str] = {
    "prose": "--prose",
    "sentences": "--sentences",
    "no speakers": "--no-speakers",
}
"""The flags of `rerank parse` that choose readings."""

LONGEST = 1 << 15
"""Characters of a sentence; a longer one is cut."""

# Control characters that Python counts as white space are words: they are reported and replaced.
_SPACES = string.whitespace + "".join(
    each for each in map(chr, range(0xA0, 0x3001)) if each.isspace()
)
BYTE_ORDER_MARK = "\ufeff"  # before the second of two files put together, too

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
    speaker: str | None = None
    """The name before the turn of a transcript."""
    read: str | None = None
    """The text with spaces in place of mark-up; None if there is none."""


class _Block(NamedTuple):
    """Characters to be split into sentences; if ``is_whole``, no sentence continues beyond the
    block."""

    text: str
    read: str
    """The text with spaces in place of mark-up and of speakers."""
    start: int
    line: int
    is_whole: bool
    spaces: str
    """Characters that belong to no word."""
    has_items: bool = False
    """Whether the numbers of items are no part of sentences."""
    turns: tuple[Turn, ...] = ()
    speaker: str | None = None
    """The speaker before the first turn."""

    def part(self, start: int, end: int, is_cut: bool, items: Collection[int]) -> Iterator[Stretch]:
        """Yield the stretch without surrounding white space and the number of an item, which is at
        one of the places in ``items``; nothing if only white space is there."""
        read = self.read[start:end]
        start += len(read) - len(read.lstrip(self.spaces))
        if start >= end:
            return
        read = read.strip(self.spaces)
        if self.has_items and not is_cut:
            is_line = not self.read[self.read.rfind("\n", 0, start) + 1 : start].strip(" \t")
            mark = item_mark(read, start in items, is_line)
            start, read = start + mark, read[mark:]
        line = self.line + self.text.count("\n", 0, start)
        text = self.text[start : start + len(read)]
        speaker = self.speaker_at(start)
        is_marked = read != text
        yield Stretch(text, self.start + start, line, is_cut, speaker, read if is_marked else None)

    def speaker_at(self, place: int) -> str | None:
        """Return the speaker of the words at a place."""
        number = bisect_right(self.turns, place, key=attrgetter("start"))
        return self.turns[number - 1].speaker if number else self.speaker


def stretches(
    pieces: Iterable[str],
    form: TextForm,
    convention: Convention = "gum",
    speakers: bool | None = None,
    report: Callable[[str], None] | None = None,
    choices: Mapping[Reading, str] = CHOICES,
) -> Iterator[Stretch]:
    """Yield the sentences of a text that arrives in lines, long ones in pieces
    (``TextFile.pieces``).

    Running text in English ends by the counts of ``text/ends.py``; in other languages by syntok,
    but not at semicolons, and at full stops without a space behind them, as in Chinese. A blank
    line ends a sentence, too, and so may an end of a line (``text/layout.py``); the layout is
    found in the beginning of the text, before the first paragraph for which it matters, and
    ``report`` is called with a message about it, which names the ``choices`` of other readings. In
    a paragraph too long for memory, all sentences but the last are yielded before the rest is read.
    """
    # A no-break space between given words is a word.
    spaces = (string.whitespace if form == "tokens" else _SPACES) + BYTE_ORDER_MARK
    ends_in = end_table().ends if is_english(convention) else lambda text, _: _all_ends(text)
    is_text = form in ("text", "prose")
    layout: Layout | None = None
    if not is_text or form == "prose":
        layout = Layout(has_speakers=bool(speakers), joins=True)
    text, start, line, is_cut = "", 0, 1, False
    speaker: str | None = None
    source = iter(pieces)
    is_last = is_marked = False
    item = 0
    while not is_last:
        piece = next(source, None)
        is_last = piece is None
        text += piece or ""
        is_whole = piece is None or (not piece.strip(spaces) if is_text else piece.endswith("\n"))
        if not is_whole and len(text) < LONGEST:
            continue
        if form != "tokens" and report and not is_marked and (found := markup(text)):
            is_marked = True
            first = " ".join(text[found[0].start : found[0].end].split())
            is_entity = first.startswith("&")
            report(f"mark-up such as {first:.40} is {'decoded' if is_entity else 'left out'}")
        if layout is None and (speakers or is_doubtful(masked(text, Layout()))):
            ahead = _sample(source, LONGEST - len(text))
            layout = _found(text + "".join(ahead), speakers, report, choices)
            source = chain(ahead, source)
        block = _block(text, layout, form, speaker, start, line, is_whole, spaces)
        taken, is_cut, item = yield from _sentences(block, is_cut, ends_in, layout, item)
        speaker = block.speaker_at(max(0, taken - 1))
        text, start = text[taken:], start + taken
        line += block.text.count("\n", 0, taken)


def _sample(pieces: Iterator[str], most: int) -> list[str]:
    """Take pieces of some ``most`` characters."""
    taken: list[str] = []
    size = 0
    while size < most and (piece := next(pieces, None)) is not None:
        taken.append(piece)
        size += len(piece)
    return taken


def _found(
    sample: str,
    speakers: bool | None,
    report: Callable[[str], None] | None,
    choices: Mapping[Reading, str],
) -> Layout:
    """Find the layout, and report it."""
    sample = masked(sample, Layout(), line=" ")
    layout = layout_of(sample, speakers)
    if report is None:
        return layout
    if layout.has_speakers:
        if speakers is None:
            name = next(turns(sample, layout)).speaker
            report(
                f"a transcript: names such as {name!r:.40} are speakers, and marks such as "
                f"[laughter] are left out ({choices['no speakers']}: words)"
            )
    elif layout.width is not None:
        other = f"{choices['sentences']}: one sentence a line"
        report(f"lines are those of prose, broken anywhere ({other})")
    elif has_doubtful_break(sample):
        other = f"{choices['prose']}: they do not"
        report(f"ends of lines end sentences where the next line begins one ({other})")
    return layout


def _block(
    text: str,
    layout: Layout | None,
    form: TextForm,
    speaker: str | None,
    start: int,
    line: int,
    is_whole: bool,
    spaces: str,
) -> _Block:
    if form == "tokens":
        return _Block(text, text, start, line, is_whole, spaces)
    known = layout or Layout()
    found = tuple(turns(masked(text, Layout()), known))
    has_items = form in ("text", "prose")
    read = masked(text, known)
    return _Block(text, read, start, line, is_whole, spaces, has_items, found, speaker)


def _sentences(
    block: _Block,
    is_cut: bool,
    ends_in: Callable[[str, Collection[int]], Iterator[int]],
    layout: Layout | None,
    item: int,
) -> Generator[Stretch, None, tuple[int, bool, int]]:
    """Yield the sentences of a block; ``is_cut`` says that the block begins inside a sentence that
    was cut, and ``item`` is the number of a list's item before the block. Return the number of
    characters consumed, whether the rest begins inside a cut sentence, and the last item's
    number."""
    text = block.read
    ends = [len(text)]
    items: Collection[int] = ()
    if block.has_items:
        spoken = {turn.start for turn in block.turns}
        found = set(spoken)
        if layout is not None and not layout.joins:
            found.update(line_ends(text, layout))
        items, item = item_numbers(text, found, spoken, item)
        found.update(ends_in(text, items))
        ends = [*sorted(found - {0}), len(text)]
    begin = 0
    for end in ends if block.is_whole else ends[:-1]:
        yield from block.part(begin, end, is_cut or end - begin > LONGEST, items)
        begin, is_cut = end, False
    while not block.is_whole and len(text) - begin >= LONGEST:
        end = last_break(text, begin, begin + LONGEST)
        yield from block.part(begin, end, True, items)
        begin, is_cut = end, True
    return begin, is_cut, item


def last_break(text: str, begin: int, end: int) -> int:
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
