"""The layout of a text: whether ends of lines end sentences, the speakers of a transcript, and
mark-up, which is no part of any sentence."""

from __future__ import annotations

import calendar
import html
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reranker.text.ends import FUNCTION_WORDS, Left, end_table, next_word, possible_ends

_ENDED = re.compile(r"[.?!\u2026][\"')\]\u201d\u2019]*\Z")
_GREETING = 4  # words before a comma that ends a line: "Best wishes,"
_BULLETS = r"[-*\u2022\u2013\u2014\u2043\u25e6\u25aa\u00b7>]"
_ITEM = re.compile(
    rf"{_BULLETS}\s|\(?(?:\d{{1,3}}|[a-z]|[ivx]{{1,5}})[.)]\s|\d{{1,3}}(?:\.\d{{1,3}})+\.?\s+[A-Z]"
    r"|#{1,6}\s+[A-Z\d]"
)
_NUMBER = re.compile(r"\(?\d{1,3}[.)]\s+")
# At the beginning of a line, 2.1, bullets and marks of headings, too.
_MARK = re.compile(
    rf"(?:{_BULLETS}|\((?:[a-z]|[ivx]{{1,5}})\)|[a-z]\))\s+(?=\S)"
    r"|\d{1,3}(?:\.\d{1,3})+\.?\s+(?=[A-Z])|#{1,6}\s+(?=[A-Z\d])"
)
# What begins a line besides words: telephone numbers, prices, hashtags, addresses.
_OTHER_START = re.compile(r"[+#@$\u00a3\u20ac](?=\w)|(?:https?://|www\.)\S|[\w.+-]{1,64}@\w")
# Marks, hashtags and emoticons, behind which the next line begins a sentence in lower case, too.
_CLOSED = re.compile(
    r"[?!\u2026][\"')\]\u201d\u2019]*\Z|(?:\A|\s)(?:#\w+|[:;=][-'^]?[)(DPp]+|<3)\Z"
)
_TAIL = 80  # characters in which the last word of a line is looked for
# The first words of names; no name and few sentences end with one.
_NAME_BEGINNINGS = frozenset(
    [
        *("New", "North", "South", "East", "West", "Northern", "Southern", "Eastern", "Western"),
        *("Great", "United", "San", "Santa", "Santo", "Los", "Las", "El", "La", "Le", "De"),
        *("Mount", "Lake", "Fort", "Port", "Cape", "Sir", "Lord", "Lady", "Queen", "King"),
        *("Prince", "Princess", "Prime", "President", "Professor", "Doctor", "Captain", "Aunt"),
        *("Uncle", "Saint", "Van", "Von", "van", "von", "Saudi", "Sri", "Costa", "Puerto", "Rio"),
        *("Buenos", "Hong"),
    ]
)
_WORD = re.compile(r"[\"'\u201c\u2018(\[]*\w*")

_NAME = r"@?[^\W\d_][\w.'\u2019-]{0,30}(?: [A-Z\d][\w.'\u2019-]{0,30}){0,3}"
# ANNA: / Speaker 2 (off): / [00:12:03] Anna: / A.1:
# [12/05/21, 10:15:02 PM] Anna: / 2021-05-12 10:15 - Anna:
_STAMP = (
    r"[\[(]?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[^\S\n]{1,2})?\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,3})?"
    r"(?:[^\S\n]?[AaPp]\.?[Mm]\b\.?)?[\])]?[^\S\n]*(?:-[^\S\n]*)?"
)
_TURN = re.compile(
    rf"^[^\S\n]*\u200e?(?:{_STAMP})?"
    rf"(?P<name>[A-Z](?=\.\d)|{_NAME})(?:\.\d{{1,4}})?(?: [\[(][^\])\n]{{0,30}}[\])])?:(?=\s)",
    re.MULTILINE,
)
_LEAST_TURNS = 2
_CAPITALS = re.compile(r"[A-Z][A-Z.'\u2019-]+(?: [A-Z\d][A-Z\d.'\u2019-]*)*")
# Common words and titles that are speakers, too; and names that are none.
_ROLES = frozenset(
    [
        *("answer", "caller", "chair", "court", "doctor", "guest", "host", "judge", "man", "woman"),
        *("interviewer", "participant", "patient", "question", "respondent", "speaker", "student"),
        *("teacher", "user", "witness", "chairman", "chairwoman", "clerk", "coach", "governor"),
        *("justice", "minister", "moderator", "nurse", "president", "professor", "senator"),
        *("mr", "mrs", "ms", "miss", "dr", "prof", "sir", "lord", "lady", "sen", "gov", "capt"),
    ]
)
_LABELS = frozenset(
    [
        *map(str.lower, (*calendar.day_name, *calendar.month_name[1:])),
        *map(str.lower, (*calendar.day_abbr, *calendar.month_abbr[1:])),
        *(
            "pros",
            "cons",
            "verdict",
            "edit",
            "update",
            "todo",
            "ps",
            "p.s",
            "nb",
            "n.b",
            "re",
            "cc",
            "fyi",
        ),
    ]
)
_LEAST_SCORE = -2.0  # of an end at an end of a line
_NARROWEST = 40  # characters of a line of prose
# Marks of transcripts: {F uh, }, of which the words were said; [laughter], ((long pause)).
_FILLER = re.compile(r"\{[ACDEF] ([^{}\n]{0,200})\}")
_HEARD = (
    r"\s?(?:(?:all|audience|background|both|brief|crowd|general|long|loud|more|nervous|short|soft|"
    r"vocalized)[ -]){0,2}(?:laugh(?:s|ing|ter)?|(?:chuckl|giggl)(?:es?|ing)|applau(?:se|ds)|"
    r"cheer(?:s|ing)|inaudible|unintelligible|indistinct|unclear|cross-?talk|overlapping|"
    r"(?:cough|sigh|sniff|gasp|sob|groan|yawn)(?:s|ing)?|crying|clears throat|breath(?:es|ing)?|"
    r"inhales|exhales|pauses?|silence|music|noise|beep|phone ring(?:s|ing))"
    r"(?: \d\d?:\d\d(?::\d\d)?)?\s?"
)
_EVENT = re.compile(rf"\[{_HEARD}\]|<{_HEARD}>|\(\({_HEARD}\)\)|\({_HEARD}\)", re.IGNORECASE)

_INLINE = (
    "a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|sub|sup|tt|u"
)
_BLOCK = "blockquote|center|div|h[1-6]|hr|img|li|ol|p|pre|section|table|tbody|td|th|thead|tr|ul"
# Attributes have values: a<b and c>d is no tag.
_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>(?P<block>{_BLOCK})|(?P<line>br)|{_INLINE})"
    r"(?:\s{1,9}[\w:-]{1,40}\s?=\s?(?:\"[^\"<>\n]{0,300}\"|'[^'<>\n]{0,300}'|[^\s\"'<>=]{1,300})){0,9}"
    r"\s{0,9}/?>",
    re.IGNORECASE,
)
# Line breaks of old Macs, of Word and of note programs; form feeds are between pages, in sentences.
_LINE_BREAK = re.compile(r"\r(?!\n)|[\x0b\u2028\u2029]")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}\d{0,2}|#\d{1,6}|#[xX][\dA-Fa-f]{1,5});")
ZERO_WIDTH = "\u200b"
# **bold**, *so*, _so_ of Markdown and of plain books, over two lines, too; unlike 2*3*4, __init__.
_EMPHASIS = re.compile(
    r"(?<![\w*/\\])(?P<opening>\*{1,3}|_)(?=[\"'\u201c\u2018(\[]?[*_]?\w)"
    r"(?:[^*_\n]|\n(?!\s)){1,300}(?<=\S)(?P<closing>(?P=opening))(?![\w*/])"
)
# The beginning of a line of a quotation: > > I agree.
_QUOTED = re.compile(r"^[^\S\n]{0,8}(?:>[^\S\n]?){0,8}>(?=\s|\Z)", re.MULTILINE)
# Between two tags that are spoken of: <b> and </b>.
_JOINERS = frozenset(["and", "or", "to", "...", "\u2026", "/", ",", "-"])
_NEAR = 40  # characters that are looked at beside a tag
_JOINED_BEFORE = re.compile(r"[\w.,:;!?>]\Z")
_GOES_ON = re.compile(r"[^\S\n]+[a-z]")
_JOINED_BEHIND = re.compile(r"[\w<]")


class Layout(NamedTuple):
    """How the lines of a text are read."""

    width: int | None = None
    """The characters of nearly the longest line of prose, which is broken at this width; None if an
    end of a line may end a sentence."""
    has_speakers: bool = False
    names: frozenset[str] | None = None
    """The names of speakers that are common words, too; None: any name before a colon is one."""
    joins: bool = False
    """True for prose whose ends of lines end nothing at all."""


class Markup(NamedTuple):
    """Mark-up in a text."""

    start: int
    end: int
    read: str
    """The text in its place, of the same length."""


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
    names = _recurring_names(sample) if speakers is None else None
    has_speakers = names is not None if speakers is None else speakers
    return Layout(width if is_prose else None, has_speakers, names)


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
        elif not _starts(below) or _goes_on(above) or _is_cut_name(above, below):
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
            and not _begins_with_word(below)
        ):
            yield place


def turns(text: str, layout: Layout) -> Iterator[Turn]:
    """Yield where speakers begin."""
    if layout.has_speakers:
        for match in _TURN.finditer(text):
            if _is_speaker(match, layout):
                yield Turn(match.start(), match["name"])


def masked(text: str, layout: Layout, line: str = "\n") -> str:
    """Return the text, of the same length, with spaces and line breaks in place of mark-up, of
    speakers' names and of other characters that break lines; ``line`` is in place of <br>."""
    text = _LINE_BREAK.sub("\n", text)
    text = _replaced(text, markup(text, line))
    if layout.has_speakers:
        text = _TURN.sub(
            lambda match: " " * len(match[0]) if _is_speaker(match, layout) else match[0], text
        )
        for _ in range(2):  # one mark may be in another
            text = _FILLER.sub(lambda match: f"   {match[1]} ", text)
        text = _EVENT.sub(lambda match: " " * len(match[0]), text)
    return text


def markup(text: str, line: str = "\n") -> list[Markup]:
    """Return the mark-up in a text, in order: that of HTML, the > of quoted lines, and the marks of
    emphasis, such as ** in Markdown.

    >>> [each.start for each in markup("> **He** is *so*; 2*3.")]
    [0, 2, 6, 12, 15]
    """
    found = _html(text, line)
    if not any(sign in text for sign in ">*_"):
        return found
    # A sign that is encoded is a word.
    rest = _replaced(text, (each._replace(read=_blank(each.read)) for each in found))
    marks = [Markup(*quoted.span(), " " * len(quoted[0])) for quoted in _QUOTED.finditer(rest)]
    for _ in range(2):  # one word may be emphasised in others
        for match in _EMPHASIS.finditer(_replaced(rest, marks)):
            spans = match.span("opening"), match.span("closing")
            marks += [Markup(begin, end, " " * (end - begin)) for begin, end in spans]
        marks.sort()
    return sorted([*found, *marks])


def _blank(read: str) -> str:
    return read if read.isspace() else "x" * len(read)


def _html(text: str, line: str) -> list[Markup]:
    """Return the comments, tags and entities of HTML in a text, in order. An entity is one in a
    text that is encoded as a whole: every & begins an entity, and nothing but tags has a <.

    >>> [each.read.strip(" \\u200b") for each in _html("<i>R&amp;D</i> &#8211;<!--so--> &lt;", "")]
    ['', '&', '', '\u2013', '', '<']
    """
    if "<" not in text and "&" not in text:
        return []
    found = [Markup(begin, end, " " * (end - begin)) for begin, end in _comments(text)]
    rest = _replaced(text, found)
    inner: list[Markup] = []
    for tag in tags(rest):
        breaks = "\n\n" if tag["block"] else line if tag["line"] else ""
        inner.append(Markup(*tag.span(), breaks.ljust(len(tag[0]))))
    entities = [*_ENTITY.finditer(rest)]
    if len(entities) == rest.count("&") and "<" not in _replaced(rest, inner):
        inner += [Markup(*entity.span(), _decoded(entity[0])) for entity in entities]
    return sorted([*found, *inner])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    place = text.find("<!--")
    while place >= 0 and (end := text.find("-->", place + 4)) >= 0:
        yield place, end + 3
        place = text.find("<!--", end)


def _decoded(entity: str) -> str:
    """Return the character of an entity and, as the rest of its length, spaces without width."""
    character = html.unescape(entity)
    if character.isspace():
        return " " * len(entity)
    if len(character) > 1 or not character.isprintable() or character == "\ufffd":
        return entity
    return character.ljust(len(entity), ZERO_WIDTH)


def _replaced(text: str, marks: Iterable[Markup]) -> str:
    """Return the text as its mark-up is read."""
    parts, place = [], 0
    for mark in marks:
        parts += [text[place : mark.start], mark.read]
        place = mark.end
    return "".join([*parts, text[place:]])


def tags(text: str) -> list[re.Match[str]]:
    """Return the tags of HTML in a text: the ones that have a partner, and <p> and the like at the
    edge of a sentence. A text may speak of other tags, or be code.

    >>> [tag[0] for tag in tags("<b>Use</b> the <i> tag if a<b.<br>")]
    ['<b>', '</b>', '<br>']
    """
    if "<" not in text:
        return []
    found: list[re.Match[str]] = []
    opened: dict[str, list[re.Match[str]]] = defaultdict(list)
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if (tag["block"] or tag["line"]) and _is_at_edge(text, tag):
            found.append(tag)
        if not tag["close"]:
            opened[name].append(tag)
        elif opened[name]:
            opening = opened[name].pop()
            if (
                text[opening.end() : min(tag.start(), opening.end() + _NEAR)].strip()
                not in _JOINERS
            ):
                found += [opening, tag]
    return sorted({tag.start(): tag for tag in found}.values(), key=re.Match.start)


def _is_at_edge(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag is at the edge of a line, or whether <br> or <p> is at an end of a
    sentence or has no space around it."""
    before = text[max(0, tag.start() - _NEAR) : tag.start()]
    behind = text[tag.end() : tag.end() + _NEAR]
    if _GOES_ON.match(behind):  # <p> opens a paragraph.
        return False
    if not before.rpartition("\n")[2].strip() or not behind.partition("\n")[0].strip():
        return True
    if tag["name"].lower() not in ("br", "hr", "p"):
        return False
    is_joined = _JOINED_BEFORE.search(before) or _JOINED_BEHIND.match(behind)
    return is_joined is not None or _ENDED.search(before.rstrip()) is not None


def item_mark(text: str, is_number: bool, is_line: bool) -> int:
    """Return the length of the number or bullet of a list's item at the beginning of a sentence,
    which may begin with such a number (``item_numbers``), and may begin a line.

    >>> item_mark("2. Unscrew it.", True, False), item_mark("- milk", False, True)
    (3, 2)
    """
    match = _NUMBER.match(text) if is_number else _MARK.match(text) if is_line else None
    return match.end() if match else 0


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
    left = _left_of(above)
    return left is None or end_table().score(left, next_word(below, 0)) > _LEAST_SCORE


def _is_item(line: str, layout: Layout) -> bool:
    """Return whether a line begins an item of a list; in prose, a dash may be one in a sentence."""
    match = _ITEM.match(line)
    return match is not None and (layout.width is None or line[match.end() :][:1].isupper())


def _is_closed(line: str) -> bool:
    """Return whether a sentence ends with a line, whatever is in the next one."""
    left = _left_of(line)
    return _CLOSED.search(line) is not None or (
        left is not None and end_table().is_word(left.token)
    )


def _left_of(line: str) -> Left | None:
    """Return the token before the full stop at the end of a line; None if no full stop is there."""
    tail = f"{line[-_TAIL:]} x"
    last = [end for end in possible_ends(tail) if end.place == len(tail) - 1]
    return last[0].left if last and line.endswith(".") else None


def _goes_on(line: str) -> bool:
    """Return whether a sentence goes on behind the end of a line."""
    if line.endswith(";"):
        return True
    if line.endswith(","):
        return len(line.split()) > _GREETING
    return line.rpartition(" ")[2].lower() in FUNCTION_WORDS


def _is_cut_name(above: str, below: str) -> bool:
    """Return whether a name may be cut by the end of a line: New York, Lake Erie."""
    words = above.split()
    is_begun = len(words) > 1 and words[-1] in _NAME_BEGINNINGS
    return is_begun and not _begins_with_word(below)


def _begins_with_word(line: str) -> bool:
    """Return whether a line begins with a common word, after quotation marks and brackets."""
    first = _WORD.match(line)
    return first is not None and end_table().is_word(first[0])


def _is_full(above: str, below: str, width: int) -> bool:
    return len(above) + 1 + len(below.split()[0]) > width


def _begins_turn(line: str, layout: Layout) -> bool:
    match = _TURN.match(line)
    return match is not None and (layout.has_speakers or match["name"][0].isupper())


def _is_speaker(turn: re.Match[str], layout: Layout) -> bool:
    name = turn["name"]
    return layout.names is None or name in layout.names or _is_name(name)


def _is_name(text: str) -> bool:
    """Return whether a text before a colon is no heading: Methods, Monday, Pros."""
    words = [word.rstrip(".") for word in text.lower().removeprefix("the ").split()]
    if words[-1].isdigit():  # Speaker 2 is one, Chapter 2 is none
        return words[0] in _ROLES and words[0] not in ("answer", "question")
    return words[0] in _ROLES or not any(
        word in _LABELS or end_table().is_word(word) for word in words
    )


def _recurring_names(sample: str) -> frozenset[str] | None:
    """Return the names that come again in a transcript; None if a text is none.

    At least half of the paragraphs, or of the lines, begin with a name and a colon, most of them
    with a name that comes again. A form and an abstract have such lines, too, but headings before
    the colon. Names in capitals, and numbered speakers, need not come again.
    """
    found = [match["name"] for match in _TURN.finditer(sample)]
    lines = ["", *sample.split("\n")]
    paragraphs = sum(
        bool(line.strip()) and not above.strip() for above, line in itertools.pairwise(lines)
    )
    if len(found) < max(_LEAST_TURNS, 0.5 * paragraphs) or len({*found}) < 2:
        return None
    names = frozenset(name for name, number in Counter(found).items() if number > 1)
    if all(map(_is_name, found)) and all(
        _CAPITALS.fullmatch(name) or name.rpartition(" ")[2].isdigit() for name in found
    ):
        return names
    sure = sum(name in names and _is_name(name) for name in found)
    capitals = sum(name[0].isupper() for name in found)
    is_sure = sure >= 0.5 * len(found) and max(capitals, sure) >= 0.8 * len(found)
    return names if is_sure else None
