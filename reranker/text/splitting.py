"""The sentences of a text's lines, for any input: nothing is lost, and memory is bounded. English
sentences end behind full stops, and behind the full stops of some abbreviations."""

from __future__ import annotations

import logging
import re
import string
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Literal, NamedTuple

from reranker.text.conventions import Convention, full_stops, is_english

Form = Literal["text", "sentences", "tokens"]
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
    pieces: Iterable[str], form: Form, convention: Convention = "gum"
) -> Iterator[Stretch]:
    """Yield the sentences of a text that arrives in lines, long ones in pieces
    (``TextFile.pieces``).

    Running text is split by syntok, but not at semicolons. A blank line ends a sentence, too. In
    English so does an abbreviation before a word that begins sentences, but not *Oct.* before a
    number or *Dr.* before a name. In other languages so does a full stop without a space behind it,
    as in Chinese. In a paragraph too long for memory, all sentences but the last are yielded before
    the rest is read.
    """
    # A no-break space between given words is a word.
    spaces = (string.whitespace if form == "tokens" else _SPACES) + _BYTE_ORDER_MARK
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


def _english_ends(text: str) -> Iterator[int]:
    """Yield the ends in ``_ends`` behind a full stop, and the ends behind abbreviations that end a
    sentence."""
    found = {end for end in _ends(text) if is_behind_stop(text, end)}.union(ends_behind(text))
    yield from sorted(found.difference(no_ends(text)))


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


# Words with which sentences begin. Before these words an abbreviation ("at 5 p.m. They left"), a
# letter or a number ends a sentence, which syntok misses; the number of a list's item does not.
_BEGINS = (
    "I|You|He|She|It|We|They|The|This|That|These|Those|There|Then|His|Her|Its|Our|Their|My|Your|"
    "But|And|So|Yet|Or|Nor|However|If|When|While|Although|Though|Because|After|Before|Since|Until|"
    "As|In|On|At|For|From|With|To|By|During|Despite|What|Who|Why|How|Where|Which|No|Not|Yes|All|"
    "Some|Many|Most|Both|Each|One|Another|Such|Several|Few|Every|Also|Thus|Therefore|Moreover|"
    "Furthermore|Nevertheless|Instead|Indeed|Meanwhile|Perhaps|Maybe|Later|Here|Now|Even|Is|Are|"
    "Was|Were|Do|Does|Did|Have|Has|Had|Can|Could|Would|Should|Let|Everyone|Nobody|Nothing|Someone"
)
_BEGIN = rf"(?:(?:{_BEGINS})(?:['\u2019][a-z]+)?[\s,]|An?\s+[a-z])"
_BEHIND = re.compile(
    r"(?<![.!?:\n]\s\d)(?<![.!?:\n]\s\d\d)(?<!^\d)(?<!\n\d)(?<!\n\d\d)"
    rf"[.?!]['\")\]\u201d\u2019]*+\s++(?={_BEGIN})"
)

# Abbreviations before any name: Dr. Who, Mr. No.
_TITLES = (
    "Drs?|Mr|Mrs|Ms|Mx|Messrs|Mmes?|Mlles?|Profs?|Revs?|Fr|Msgr|Rt|Hon|Pres|Govs?|Sens?|Reps?|Gens?|"
    "Lts?|Cols?|Maj|Capts?|Cmdr|Cdr|Cpl|Sgts?|Pvt|Adm|Brig|Amb|Atty|Supt|Insp|Det"
)
# Abbreviations in the middle of a sentence, whatever follows.
_WITHIN = r"e\.\s?g|i\.\s?e|[Cc]f|[Vv]s|[Vv]iz|[Aa]pprox|ca|esp|incl"
# Abbreviations before a number or another name of a part: No. 5, Vol. II, Fig. S3.
_PARTS = (
    "[Nn]os?|[Ff]igs?|FIGS?|[Ee]q[sn]?|[Ss]ec|[Ss]ects?|[Cc]h|[Cc]haps?|[Vv]ols?|[Pp]p?|[Rr]efs?|"
    "[Rr]te?|[Hh]wy|[Ss]uppl|[Pp]aras?|[Ee]xt|[Tt]el|[Vv]er|Arts?|Apps?|Tabs?|Exs?|Ser|Pts?|Bks?|Ln|"
    "Apts?|Ste|Bldg|Op|[Ii]bid|cit|[Cc]a?|lbs?|oz|ft|hrs?|mins?|secs?"
)
_PART = r"[\[(#\u00a7]?\d|[A-Z]\d|[IVXLC]{2,}\b|[B-HJ-Z]\b"
_MONTHS = "Jan|Febr?|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_DAYS = "Mon|Tues?|Weds?|Thu|Thurs?|Fri|Sat|Sun"
_ORDINAL = (
    r"(?:First|Second|Third|(?:Four|Fif|Six|Seven|Eigh|Nin|Ten|Eleven|Twelf|\w{3,5}teen|Twentie|"
    r"Thirtie)th|(?:Twenty|Thirty)-\w+)\b(?!,)"
)
# Abbreviations in names and places: they end a sentence only before a word that begins sentences.
_OF_NAMES = (
    "DR|MR|MRS|PROF|GEN|SEN|GOV|REV|Jr|Sr|Esq|Bros|Cos?|Corp|Inc|Ltd|Assn|Assoc|Dept|Univ|Inst|"
    "Intl|Natl|Govt|Mfg|Sts?|Ste|Mts?|Ft|Pt|Ave|Blvd|Rd|Sq|al|etc|eds?|Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|"
    "Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|Ont|Ore|Pa|Penn|Que|Tenn|Tex|Va|Vt|Wash|Wis|Wyo"
)
_INITIALS = r"[A-Z]|(?:[A-Za-z][a-z]{0,2}\.){1,9}[A-Za-z]{1,3}"
_NAMES_WITH_MARK = "Yahoo|Yum|Jeopardy|Joomla|Oklahoma|Wham"
_SPACE = r"(?=\s)[^\S\n]*+(?:\n[^\S\n]*+)?(?=\S)"  # but no blank line
_NO_END = re.compile(
    rf"""(?<![\w.])(?:
        (?: (?:{_TITLES}|{_WITHIN})\.
          | (?:{_PARTS})\.(?=\s+(?:{_PART}))
          | (?:Ch|Vol|Sec|Fig|Bk|Pt|App|Art)\.(?=\s+[AI]\b)
          | (?:{_MONTHS})\.(?=\s+(?:['\u2019]?\d|{_ORDINAL}))
          | (?:{_DAYS})\.,?(?=\s+(?:\d|{_ORDINAL}|(?:{_MONTHS})\b))
          | (?:{_OF_NAMES}|{_MONTHS}|{_INITIALS})\.(?!\s+{_BEGIN})
          | (?:{_NAMES_WITH_MARK})!(?!\s+{_BEGIN})
        ){_SPACE})""",
    re.VERBOSE,
)


# Full stops as in syntok, which also ends sentences at brackets without a full stop.
_STOP = re.compile(
    "(?:[.!?;\u2026\u203c\u203d\u2047-\u2049\u3002\ufe52\ufe57\uff01\uff0e\uff1f\uff61]"
    r"[^\w\s]*\s*|\n\s*\n\s*)\Z"
)
_MAX_CLOSING = 40  # characters


def is_behind_stop(text: str, end: int) -> bool:
    """Return whether a full stop, or a blank line, is right before ``end`` in the text."""
    return _STOP.search(text[max(0, end - _MAX_CLOSING) : end]) is not None


def ends_behind(text: str) -> Iterator[int]:
    """Yield the ends of sentences before words with which sentences begin.

    >>> list(ends_behind("We met at 5 p.m. They left."))
    [17]
    """
    yield from (match.end() for match in _BEHIND.finditer(text))


def no_ends(text: str) -> Iterator[int]:
    """Yield places behind abbreviations where no sentence ends.

    >>> list(no_ends("On Oct. 3rd Dr. Who left."))
    [8, 16]
    """
    yield from (match.end() for match in _NO_END.finditer(text))
