"""The words of a sentence's text, as treebanks spell them, with their places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from reranker.files.text import encoding_fault
from reranker.languages import INVISIBLE, composed, is_invisible
from reranker.nbest.words import escaped
from reranker.text.conventions import UNESCAPED, Convention, is_english, tokens
from reranker.text.whole_words import ADDRESS, whole_words

if TYPE_CHECKING:
    from nltk.tokenize import NLTKWordTokenizer

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Replacements of equal length, so that offsets stay; the tokeniser knows straight quotes best.
_STRAIGHT = str.maketrans(
    dict.fromkeys("\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", '"')
    | dict.fromkeys("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}", "'")
    | dict.fromkeys("\N{MODIFIER LETTER APOSTROPHE}\N{FULLWIDTH APOSTROPHE}", "'")
)
# nltk leaves these joined to their neighbours; English treebanks split them off, like semicolons.
_FOR_NLTK = _STRAIGHT | str.maketrans(
    dict.fromkeys("\N{HORIZONTAL ELLIPSIS}£¥€±\N{MULTIPLICATION SIGN}≤≥•", ";")
)
_PENN_QUOTES = {
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{LEFT SINGLE QUOTATION MARK}": "`",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}
_BRACKETS = {"[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}

# Characters that a tree or a terminal cannot take: bytes that are not UTF-8, control characters.
_UNUSABLE = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WORD = re.compile(r"\S+", re.ASCII)
_SPACE = re.compile(r"\s")
# Behind the last full stop: signs that close, and citations: "He left.*", '"He left." [2]'; not the
# marks behind abbreviations: "at 5 a.m.?", "Acme Inc.:"
_BEHIND_STOP = re.compile(
    r"(?:[\s)\]}>\"'\u00bb*_~\u2020\u2021\u00b9\u00b2\u00b3\u2070-\u2079]|\[/?\w{1,20}\])*"
)

# Clitics before others, which nltk leaves joined: I'd've, y'all'd've.
_INNER_CLITIC = re.compile(r"(?<=\w)(?:n't|'(?:d|ll|s|m|re|ve))(?='|\Z)", re.IGNORECASE)
_JOINTS = re.compile("(?<=\\w)[-/\N{HYPHEN}\N{EN DASH}](?=\\w)")
# Prefixes that GUM and CRAFT leave joined with a hyphen more often than not.
_PREFIXES = frozenset(
    [
        "anti",
        "auto",
        "co",
        "counter",
        "cross",
        "e",
        "hetero",
        "inter",
        "intra",
        "micro",
        "mid",
        "mini",
        "multi",
        "non",
        "over",
        "pan",
        "post",
        "pre",
        "pro",
        "pseudo",
        "re",
        "semi",
        "sub",
        "uh",
        "um",
    ]
)


class Word(NamedTuple):
    """A word: ``text`` as in trees, with brackets escaped, for the characters from ``start`` to
    ``end``."""

    text: str
    start: int
    end: int


def given_words(text: str, convention: Convention = "gum") -> list[Word]:
    """Return the words of tokenised text, separated by ASCII white space; compose words of
    languages other than English."""
    spelled = _usable if is_english(convention) else _composed
    return [
        Word(escaped(spelled(match[0])), match.start(), match.end())
        for match in _WORD.finditer(text)
    ]


def split_into_words(text: str, convention: Convention = "gum") -> list[Word]:
    """Return the words of a sentence. English is split by nltk, following the Penn Treebank, and
    for ``gum`` also at hyphens and slashes. Web and mail addresses are one word. Raises InputError
    if a library that the convention needs is missing.

    >>> [word.text for word in split_into_words("He didn't (see) a well-known re-run.")]
    ['He', 'did', "n't", '-LRB-', 'see', '-RRB-', 'a', 'well', '-', 'known', 're-run', '.']
    >>> [word.text for word in split_into_words("Well… it's £5±2.")]
    ['Well', '…', 'it', "'s", '£', '5', '±', '2', '.']
    >>> [word.text for word in split_into_words("Anak-anak lapar (katanya).", "id")]
    ['Anak', '-', 'anak', 'lapar', '-LRB-', 'kata', 'nya', '-RRB-', '.']
    """
    english = is_english(convention)
    visible, places = _visible(text) if english else (text, None)
    straight = _usable(visible).translate(_FOR_NLTK if english else UNESCAPED)
    whole = [*whole_words(straight)] if english else [m.span() for m in ADDRESS.finditer(straight)]
    straight = _masked(straight, whole)
    if english:
        straight = _with_last_stop_apart(straight)
    found = _tokenizer().tokenize(straight) if english else tokens(straight, convention)
    spans: Iterable[Word] = _aligned(found, straight)
    if english:
        spans = (part for span in spans for part in _without_clitics(span))
    if whole:
        spans = _cut(spans, _edges(straight, whole, joins=convention == "wsj"))
    if convention in ("gum", "id"):
        kept = {begin for begin, _ in whole}
        prefixes = _PREFIXES if convention == "gum" else frozenset[str]()
        spans = (part for span in spans for part in _parts(span, visible, kept, prefixes))
    words = [Word(_spelled(word, visible, convention), word.start, word.end) for word in spans]
    if places is not None:
        return [Word(text, places[start], places[end - 1] + 1) for text, start, end in words]
    return words if english else [word for word in words if not is_invisible(word.text)]


def tree_word(token: str) -> str:
    """Return another program's token as it is spelled in trees: brackets escaped, printable, one
    word for every parser.

    >>> [tree_word(token) for token in ("(", "isn't", "]", "New York")]
    ['-LRB-', "isn't", '-RSB-', 'New_York']
    """
    word = _SPACE.sub("_", _usable(token))
    return _BRACKETS.get(word) or escaped(word)


def fault(text: str) -> str | None:
    """Return the fault of the first character that cannot be in a tree, or None."""
    unusable = _UNUSABLE.search(text)
    if unusable is None:
        return None
    return encoding_fault(unusable[0]) or f"control character U+{ord(unusable[0]):04X}"


@cache
def _tokenizer() -> NLTKWordTokenizer:
    from nltk.tokenize import NLTKWordTokenizer  # a second to import

    return NLTKWordTokenizer()


def _usable(text: str) -> str:
    return text if text.isalnum() else _UNUSABLE.sub(REPLACEMENT, text)


def _composed(text: str) -> str:
    return composed(_usable(text))


def _aligned(tokens: Iterable[str], text: str) -> Iterator[Word]:
    """Yield the tokens with their places. A tokeniser changes only double quotes; if one ever
    changes more, the rest of the text is split at white space."""
    place = 0
    for token in tokens:
        place = _next_word(text, place)
        length = len(token)
        if not text.startswith(token, place):
            is_quote = token in ("``", "''") and text.startswith(('"', "``", "''"), place)
            if not is_quote:
                break
            length = 1 if text[place] == '"' else 2
        yield Word(token, place, place + length)
        place += length
    while (place := _next_word(text, place)) < len(text):
        start = place
        while place < len(text) and not text[place].isspace():
            place += 1
        yield Word(text[start:place], start, place)


def _next_word(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _visible(text: str) -> tuple[str, Sequence[int] | None]:
    """Return the text without invisible characters, and the places of the others, None if there
    are none."""
    if text.isascii() or not INVISIBLE.search(text):
        return text, None
    places = [place for place, each in enumerate(text) if not INVISIBLE.match(each)]
    return "".join(text[place] for place in places), places


def _without_clitics(word: Word) -> Iterator[Word]:
    """Yield a word, and each clitic at its end as a word."""
    first = _INNER_CLITIC.search(word.text)
    place = 0
    while first is not None and first.start() > place:
        yield Word(word.text[place : first.start()], word.start + place, word.start + first.start())
        place = first.start()
        first = _INNER_CLITIC.search(word.text, place + 1)
    yield Word(word.text[place:], word.start + place, word.end) if place else word


def _masked(text: str, whole: Iterable[tuple[int, int]]) -> str:
    """Return the text with letters in place of whole words, which the tokeniser leaves together."""
    parts, last = [], 0
    for begin, end in whole:
        parts += [text[last:begin], "x" * (end - begin)]
        last = end
    return "".join([*parts, text[last:]])


def _with_last_stop_apart(text: str) -> str:
    """Return the text with a sign that the tokeniser splits off in place of the last full stop, if
    no word is behind it: the tokeniser knows brackets and quotes there, but no other signs."""
    place = text.rfind(".")
    is_stop = place > 0 and text[place - 1] not in ". " and _BEHIND_STOP.fullmatch(text, place + 1)
    return f"{text[:place]};{text[place + 1 :]}" if is_stop else text


def _edges(text: str, whole: Iterable[tuple[int, int]], joins: bool) -> Iterator[int]:
    """Yield where whole words begin and end; if ``joins``, not at a hyphen or slash."""
    for edge in (edge for span in whole for edge in span):
        if not (joins and (_JOINTS.match(text, edge) or _JOINTS.match(text, edge - 1))):
            yield edge


def _cut(words: Iterable[Word], edges: Iterator[int]) -> Iterator[Word]:
    """Yield the words, cut at the edges of whole ones."""
    edge = next(edges, None)
    for word in words:
        start = word.start
        while edge is not None and edge < word.end:
            if edge > start:
                yield Word(word.text[start - word.start : edge - word.start], start, edge)
                start = edge
            edge = next(edges, None)
        yield Word(word.text[start - word.start :], start, word.end)


def _parts(
    word: Word, text: str, kept: Collection[int], prefixes: Collection[str]
) -> Iterator[Word]:
    """Yield the parts of a word split at hyphens and slashes, which are words themselves. Words
    that begin in ``kept``, and words with a prefix, stay whole."""
    start = word.start
    if start in kept:
        yield word
        return
    # The character behind the word is looked at, too: bob-AT&T has the parts "bob-" and "AT&T".
    for joint in _JOINTS.finditer(text, start, min(word.end + 1, len(text))):
        place = joint.start()
        before, sign, after = text[start:place], text[place], text[place + 1]
        is_number = text[place - 1].isdigit() and after.isdigit()
        is_prefix = sign == "-" and before.lower() in prefixes and place + 1 < word.end
        if is_prefix or (sign == "/" and is_number):
            continue
        if before:
            yield Word(before, start, place)
        yield Word(sign, place, place + 1)
        start = place + 1
    if start < word.end:
        yield word if start == word.start else Word(text[start : word.end], start, word.end)


def _spelled(word: Word, text: str, convention: Convention) -> str:
    """Return the word as spelled in trees."""
    original = _usable(text[word.start : word.end])
    if not is_english(convention):
        original = composed(original)
    if convention == "wsj":
        quote = word.text if original == '"' else _PENN_QUOTES.get(original)
        if quote:
            return quote
        original = original.translate(_STRAIGHT)
    return _BRACKETS.get(original) or escaped(original)
