"""The words of a sentence's text, as treebanks spell them, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from reranker.files.text import encoding_fault
from reranker.languages import composed, is_invisible
from reranker.nbest.words import escaped
from reranker.text.conventions import UNESCAPED, Convention, is_english, tokens

if TYPE_CHECKING:
    from nltk.tokenize import NLTKWordTokenizer

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Replacements of equal length, so that offsets stay; the tokeniser knows straight quotes best.
_STRAIGHT = str.maketrans(
    dict.fromkeys("\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", '"')
    | dict.fromkeys("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}", "'")
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

# An address of a web page or of mail: one word, without the punctuation behind it.
_ADDRESS = re.compile(
    r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"]*[\w/]|\b[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+",
    re.IGNORECASE,
)
# The second part is text that could be a name before an @ but is not, up to the next web page. One
# match skips it; else the search would begin again at every hyphen of `a-a-a-...`.
_ADDRESS_OR_NONE = re.compile(
    rf"({_ADDRESS.pattern})|\b(?:\w+|[.+-])(?:(?!https?://|ftp://|www\.)\w+|[.+-])*",
    re.IGNORECASE,
)
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
    straight = _usable(text).translate(_FOR_NLTK if is_english(convention) else UNESCAPED)
    straight = _ADDRESS_OR_NONE.sub(
        lambda match: "x" * len(match[0]) if match[1] else match[0], straight
    )
    if is_english(convention):
        found: Iterable[str] = _tokenizer().tokenize(straight)
    else:
        found = tokens(straight, convention)
    spans: Iterable[Word] = _aligned(found, straight)
    if convention in ("gum", "id"):
        spans = (part for span in spans for part in _parts(span, text, convention == "gum"))
    words = (Word(_spelled(word, text, convention), word.start, word.end) for word in spans)
    return [word for word in words if is_english(convention) or not is_invisible(word.text)]


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


def _parts(word: Word, text: str, has_prefixes: bool) -> Iterator[Word]:
    """Yield the parts of a word split at hyphens and slashes, which are words themselves.
    Addresses, and English words with a prefix, stay whole."""
    address = _ADDRESS.match(text, word.start, word.end)
    start = word.start
    for joint in _JOINTS.finditer(text, address.end() if address else start, word.end):
        place = joint.start()
        before, sign, after = text[start:place], text[place], text[place + 1]
        is_number = text[place - 1].isdigit() and after.isdigit()
        is_prefix = has_prefixes and sign == "-" and before.lower() in _PREFIXES
        if is_prefix or (sign == "/" and is_number):
            continue
        yield Word(before, start, place)
        yield Word(sign, place, place + 1)
        start = place + 1
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
