"""The layout of a text: whether ends of lines end sentences, the speakers of a transcript, and
mark-up, which is no part of any sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from reranker.text.ends import FUNCTION_WORDS, Left, end_table, next_word

_ENDED = re.compile(r"[.?!\u2026][\"')\]\u201d\u2019]*\Z")
_GREETING = 4  # words before a comma that ends a line: "Best wishes,"
_BULLETS = r"[-*\u2022\u2013\u2014\u2043\u25e6\u25aa\u00b7>]"
_ITEM = re.compile(
    rf"{_BULLETS}\s|\(?(?:\d{{1,3}}|[a-z]|[ivx]{{1,5}})[.)]\s|\d{{1,3}}(?:\.\d{{1,3}})+\.?\s+[A-Z]"
)
_NUMBER = re.compile(r"\(?\d{1,3}[.)]\s+")
# At the beginning of a line, 2.1 and bullets, too.
_MARK = re.compile(
    rf"(?:{_BULLETS}|\((?:[a-z]|[ivx]{{1,5}})\)|[a-z]\))\s+(?=\S)"
    r"|\d{1,3}(?:\.\d{1,3})+\.?\s+(?=[A-Z])"
)
# What begins a line besides words: telephone numbers, prices, hashtags, addresses.
_OTHER_START = re.compile(r"[+#@$\u00a3\u20ac](?=\w)|(?:https?://|www\.)\S|[\w.+-]{1,64}@\w")
# Marks, hashtags and emoticons, behind which the next line begins a sentence in lower case, too.
_CLOSED = re.compile(
    r"[?!\u2026][\"')\]\u201d\u2019]*\Z|(?:\A|\s)(?:#\w+|[:;=][-'^]?[)(DPp]+|<3)\Z"
)
_LAST_WORD = re.compile(r"([^\W\d_]+)\.\Z")
_WORD = re.compile(r"[\"'\u201c\u2018(\[]*\w*")

_NAME = r"@?[^\W\d_][\w.'\u2019-]{0,30}(?: [A-Z\d][\w.'\u2019-]{0,30}){0,3}"
# ANNA: / Speaker 2 (off): / [00:12:03] Anna: / A.1:
_TURN = re.compile(
    r"^[^\S\n]*(?:[\[(]?\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,3})?[\])]?[^\S\n]*(?:-[^\S\n]*)?)?"
    rf"(?P<name>[A-Z](?=\.\d)|{_NAME})(?:\.\d{{1,4}})?(?: [\[(][^\])\n]{{0,30}}[\])])?:(?=\s)",
    re.MULTILINE,
)
_LEAST_TURNS = 2
_LEAST_SCORE = -2.0  # of an end at an end of a line
_NARROWEST = 40  # characters of a line of prose
# Marks of transcripts: {F uh, }, [laughter], <noise>, ((unclear)); only the words of the first
# kind were said.
_FILLER = re.compile(r"\{[A-Z] (?=[^{}\n]{0,200}\})|(?<=[\s,])\}")
_EVENT = re.compile(r"\[[^\]\[+\n]{1,60}\]|<[a-z][^<>\n]{0,60}>|\(\([^()\n]{0,60}\)\)")

_INLINE = (
    "a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u"
)
_BLOCK = "blockquote|center|div|h[1-6]|hr|img|li|ol|p|pre|section|table|tbody|td|th|thead|tr|ul"
_TAG = re.compile(
    rf"</?(?:(?P<block>{_BLOCK})|(?P<line>br)|{_INLINE})(?:\s[^<>\n]{{0,500}})?/?>", re.IGNORECASE
)


class Layout(NamedTuple):
    """How the lines of a text are read."""

    width: int | None = None
    """The width at which lines of prose are broken; None if an end of a line may end a sentence."""
    has_speakers: bool = False
    joins: bool = False
    """True for prose whose ends of lines end nothing at all."""


class Turn(NamedTuple):
    """The beginning of a speaker's words."""

    start: int
    speaker: str


def is_doubtful(text: str) -> bool:
    """Return whether the layout of the whole text matters for a paragraph of the text."""
    return _TURN.search(text) is not None or has_doubtful_break(text)


def has_doubtful_break(text: str) -> bool:
    """Return whether an end of a line without a mark is before a line that might begin a sentence,
    or any before an item of a list."""
    return any(
        _ITEM.match(below) is not None or (not _ENDED.search(above) and _starts(below))
        for above, below, _ in _breaks(text)
    )


def layout_of(sample: str, speakers: bool | None) -> Layout:
    """Find the layout of a text by its beginning; ``speakers`` is None if it is to be found whether
    there are speakers.

    Prose that is broken at one width goes on at most ends of lines, mostly in lower case, and
    the next word would not have fitted into the line.
    """
    lengths = sorted(len(line.rstrip()) for line in sample.split("\n") if line.strip())
    width = lengths[(len(lengths) - 1) * 19 // 20] if lengths else 0
    breaks = [each for each in _breaks(sample) if len(each[0]) >= 0.6 * width]
    unended = [each for each in breaks if not _ENDED.search(each[0])]
    lower = sum(not _starts(below) for _, below, _ in unended)
    full = sum(_is_full(above, below, width) for above, below, _ in unended)
    is_prose = (
        bool(unended)
        and width >= _NARROWEST
        and len(unended) >= 0.4 * len(breaks)
        and full >= 0.6 * len(unended)
        and lower >= 0.35 * len(unended)
    )
    has_speakers = _has_speakers(sample) if speakers is None else speakers
    return Layout(width if is_prose else None, has_speakers)


def line_ends(text: str, layout: Layout) -> Iterator[int]:
    """Yield the places in a paragraph where lines begin that begin a sentence."""
    if layout.joins:
        return
    breaks = list(_breaks(text))
    lengths = [len(above.rstrip()) for above, _, _ in breaks]
    width = max(lengths, default=0) if layout.width is None else layout.width
    is_ended = _ENDED.search(text.rstrip()) is not None
    for above, below, place in breaks:
        is_closed = layout.width is None and _is_closed(above)
        if _is_item(below, layout) or _begins_turn(below, layout) or is_closed:
            yield place
        elif not _starts(below) or _goes_on(above):
            continue
        elif layout.width is not None:
            # In prose, a line that has much room left ends a sentence.
            if len(above.rstrip()) + 1 + len(below.split()[0]) < 0.75 * width:
                yield place
        elif _ENDED.search(above):
            if _may_end(above, below):
                yield place
        elif not (
            # A name may go on a sentence in a line that is full.
            is_ended
            and width >= _NARROWEST
            and _is_full(above, below, width)
            and not end_table().is_word(_WORD.match(below)[0])  # type: ignore[index]
        ):
            yield place


def turns(text: str) -> Iterator[Turn]:
    """Yield where speakers begin."""
    for match in _TURN.finditer(text):
        yield Turn(match.start(), match["name"])


def masked(text: str, layout: Layout) -> str:
    """Return the text, of the same length, with spaces and line breaks in place of mark-up and of
    speakers' names."""
    if "<" in text:
        text = _TAG.sub(_tag_mask, text)
    if layout.has_speakers:
        for pattern in (_TURN, _FILLER, _EVENT):
            text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


def item_mark(text: str, is_number: bool, is_line: bool) -> int:
    """Return the length of the number or bullet of a list's item at the beginning of a sentence,
    which may begin with such a number (``item_numbers``), and may begin a line.

    >>> item_mark("2. Unscrew it.", True, False), item_mark("- milk", False, True)
    (3, 2)
    """
    match = _NUMBER.match(text) if is_number else _MARK.match(text) if is_line else None
    return match.end() if match else 0


def _tag_mask(match: re.Match[str]) -> str:
    breaks = "\n\n" if match["block"] else "\n" if match["line"] else ""
    return breaks + " " * (len(match[0]) - len(breaks))


def _breaks(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the lines above and below each line break within a paragraph, and the place of the
    lower one; both without white space around them."""
    place = 0
    last = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if last and stripped:
            yield last, stripped, place + len(line) - len(line.lstrip())
        last = stripped
        place += len(line) + 1


def _starts(line: str) -> bool:
    """Return whether a line begins as sentences and items of lists do."""
    first = _WORD.match(line)
    word = first[0].lstrip("\"'\u201c\u2018([") if first else ""
    return (
        word[:1].isupper()
        or word[:1].isdigit()
        or _ITEM.match(line) is not None
        or _OTHER_START.match(line) is not None
    )


def _may_end(above: str, below: str) -> bool:
    """Return whether the full stop at the end of a line may end a sentence: not that of a title
    before a name."""
    word = _LAST_WORD.search(above)
    if word is None:
        return True
    return end_table().score(Left(word[1], "word"), next_word(below, 0)) > _LEAST_SCORE


def _is_item(line: str, layout: Layout) -> bool:
    """Return whether a line begins an item of a list; in prose, a dash may be one in a sentence."""
    match = _ITEM.match(line)
    return match is not None and (layout.width is None or line[match.end() :][:1].isupper())


def _is_closed(line: str) -> bool:
    """Return whether a sentence ends with a line, whatever is in the next one."""
    word = _LAST_WORD.search(line)
    return _CLOSED.search(line) is not None or (word is not None and end_table().is_word(word[1]))


def _goes_on(line: str) -> bool:
    """Return whether a sentence goes on behind the end of a line."""
    if line.endswith(";"):
        return True
    if line.endswith(","):
        return len(line.split()) > _GREETING
    return line.rpartition(" ")[2].lower() in FUNCTION_WORDS


def _is_full(above: str, below: str, width: int) -> bool:
    return len(above) + 1 + len(below.split()[0]) > width


def _begins_turn(line: str, layout: Layout) -> bool:
    match = _TURN.match(line)
    return match is not None and (layout.has_speakers or match["name"][0].isupper())


def _has_speakers(sample: str) -> bool:
    """Return whether at least half of the paragraphs, or of the lines, begin with a name and a
    colon. A form has such lines, too; but speakers come again, or speak in sentences."""
    found = list(_TURN.finditer(sample))
    if len(found) < _LEAST_TURNS:
        return False
    paragraphs = len(re.findall(r"(?:\A|\n[^\S\n]*\n)\s*\S", sample))
    if len(found) < 0.5 * paragraphs:
        return False
    names = Counter(match["name"] for match in found)
    ends = [*(match.start() for match in found[1:]), len(sample)]
    said = [sample[match.end() : end].strip() for match, end in zip(found, ends, strict=True)]
    sentences = sum(len(each.split()) > 1 and bool(_ENDED.search(each)) for each in said)
    repeated = sum(number for number in names.values() if number > 1)
    capitals = sum(match["name"][0].isupper() for match in found)
    return (repeated >= 0.5 * len(found) or sentences >= 0.8 * len(found)) and (
        capitals >= 0.8 * len(found) or repeated >= 0.8 * len(found)
    )
