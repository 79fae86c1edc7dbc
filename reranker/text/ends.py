"""The ends of English sentences. A mark, such as a full stop, is an end by the odds of the word
before it and of the word behind it, as counted in texts whose sentences are known
(``eval/texts/end_counts.py``)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

_MARKS = ".?!\u2026\u203c\u203d\u2047-\u2049\u3002\ufe52\ufe57\uff01\uff0e\uff1f\uff61"
_QUOTES = "\"'\u201d\u2019\u00bb"
_POSSIBLE_END = re.compile(
    # A mark, the marks that close behind it, citations as in Wikipedia ("It is.[2] So").
    rf"(?P<mark>(?<![{_MARKS}])[{_MARKS}]++)"
    rf"(?P<closing>[)\]}}{_QUOTES}]*+(?:[^\S\n]?\[\d[\d,\u2013-]*+\])*+)"
    r"(?P<space>[\s\ufeff\u200b]++)(?=\S)"
    # A mark without a space behind it: "He left.Then she came."
    rf"|(?<![^\W\d_])(?P<before>[^\W\d_]{{2,30}}+)(?P<joined>[.?!][)\]{_QUOTES}]*+)"
    r"(?=(?P<after>[A-Z][a-z]{1,30}+)(?:[\s,!?'\u2019]|\.(?!\w)))"
    r"|(?P<blank>\n[^\S\n]*+\n\s*+)(?=\S)"
)
_TOKEN = re.compile(r"[^\s(\[{\"\u201c\u2018\u2014\u2013/]*\Z")
_WORD_BEFORE = re.compile(r"\S*\Z")
_SHAPE = re.compile(
    r"(?P<initial>[A-Z])|(?P<letter>[a-z])|(?P<letters>(?:[A-Za-z]{1,2}\.)+[A-Za-z]{1,2})"
    r"|(?P<number>[^\w\s]?\d[\d.,:%]*)|(?P<address>[^@]*@.*|\w+(?:[.-]\w+)*\.\w+)"
    r"|(?P<mixed>(?=.*[\W\d_]).*)|(?P<capitals>[A-Z]{2,5})|(?P<consonants>[^aeiouyAEIOUY]{2,5})"
    r"|(?P<Short>[A-Z].{1,3})|(?P<short>.{2,3})|(?P<name>[A-Z].*)|(?P<word>.+)|(?P<none>)",
    re.DOTALL,
)
_UNITS = frozenset(
    {"initial", "letter", "mixed", "capitals", "consonants", "Short", "short"}
)  # shapes that a unit behind a number can have
_NEXT = re.compile(r"(?P<quote>[\"'\u201c\u2018`\u00ab]*)(?P<word>[^\W_]*)")
_PART = re.compile(r"[B-HJ-Z]|[IVXLC]{2,}|[A-Z]\d+|A(?!\s+[a-z])")
_CAPITAL = re.compile(r"\s[A-Z]\w")
_NUMBER = re.compile(
    r"(?:\A|(?P<before>\S))(?P<space>\s*+)(?<!\S)"
    r"(?P<item>\((?P<inner>\d{1,3})\)|(?P<outer>\d{1,3})(?P<sign>[.)]))"
    r"(?=\s++[\"'\u201c\u2018(]?[^\W\d])"
)
_LONE = 100  # A line that begins with a greater number may begin with an answer: "300. The men"
_BEFORE_NUMBER = frozenset(f"{_MARKS}{_QUOTES}:;,)]}}")
_SPEAKER = re.compile(
    r"(?:(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey"
    r"|(?:[A-Z][\w\u2019'-]{0,20}\.?\s){0,2}[A-Z][\w\u2019'-]{0,20})"
    r"\s(?P<verb>[a-z]{2,20})|I['\u2019](?P<clitic>m|d|ll|ve))\b"
)
# By 9 a.m. I had: a phrase that begins a sentence is none.
_PHRASE = re.compile(
    r"(?:\A|[.?!:\n]\s*|[\"'\u201c\u2018(])(?:After|At|Before|By|During|From|In|On|Since|Until)"
    r"(?:\s[^\s,.?!]{1,20}){0,3}\s\Z"
)
_QUOTED = frozenset({'?"', '!"', '..."'})
_NO_ABBREVIATIONS = frozenset({"Short", "short", "name", "word"})
"""Shapes of tokens that seldom shorten a word, unless they are in the table."""
_UNQUOTED = frozenset({"?", "!"})
_PRONOUNS = frozenset({"I", "We", "He", "She", "They", "The"})
_LEADS = 1.0  # the least score of a word that begins a new sentence behind a quotation
FUNCTION_WORDS = frozenset(
    [
        *("the", "a", "an", "of", "to", "in", "on", "at", "by", "for", "with", "from", "into"),
        *("and", "or", "but", "nor", "as", "than", "is", "are", "was", "were", "be", "my", "your"),
        *("his", "her", "its", "our", "their", "this", "these", "those", "which", "who", "if"),
        *("when", "while", "because"),
    ]
)
"""Words that end few sentences; names often follow."""
_LONGEST = 40  # characters of a token
_NAME = 1.0  # the logarithm of how much more often a word behind an initial is unknown
_LEAST, _MOST = -2.5, 3.0  # the most that a word behind an end can count

Kind = Literal["lower", "capital", "capitals", "digit", "part", "bracket", "quote", "other"]
"""The kind of the next word: in lower case, with a capital, with a capital as its next word has, a
number, the name of a part (II, B, S3), an opening bracket, an opening quote, anything else."""
KINDS: tuple[Kind, ...] = get_args(Kind)


APART: frozenset[Kind] = frozenset({"capital", "capitals", "bracket", "quote"})
"""Kinds of words that are no part of a quantity or of a numbered name."""


class Left(NamedTuple):
    """The token before a possible end, without a full stop, and its shape."""

    token: str
    shape: str


class Right(NamedTuple):
    """The word behind a possible end, its kind, and the verb if a name or pronoun and a verb are
    there: *Mrs. Hall called*."""

    word: str
    kind: Kind
    verb: str = ""


class PossibleEnd(NamedTuple):
    """A place where a sentence may end."""

    place: int
    """Of the next word."""
    begin: int
    """Of the token before the mark."""
    left: Left
    is_blank: bool = False
    """True for a blank line, where every sentence ends."""
    joined: tuple[str, str] | None = None
    """The words around a mark without a space behind it."""


def possible_ends(text: str) -> Iterator[PossibleEnd]:
    """Yield the places where a sentence may end."""
    for match in _POSSIBLE_END.finditer(text):
        if match["blank"] or (match["space"] or "").count("\n") > 1:
            yield PossibleEnd(match.end(), match.start(), Left("", "none"), is_blank=True)
        elif match["joined"]:
            pair = match["before"], match["after"]
            yield PossibleEnd(match.end(), match.start(), Left("", "none"), joined=pair)
        else:
            left = _left(text, match)
            yield PossibleEnd(match.end(), match.start() - len(left.token), left)


def item_numbers(
    text: str, starts: Collection[int] = (), turns: Collection[int] = (), last_number: int = 0
) -> tuple[set[int], int]:
    """Return the places of the numbers of a list's items, and the number that the next text may
    count on from. Items are the numbers at the beginning of a line, from 100 on only if they count
    on, and those that count on from such a number or from 1. Other numbers are words: *How many?
    300. The men went.* ``starts`` are places where sentences begin without a mark before them;
    ``turns`` are beginnings of lines whose first words, a speaker's name, were taken out;
    ``last_number`` is the one that the text may count on from.

    >>> places, number = item_numbers("Do: 1. Lift it. 2. Ask: how many? 12. Go on. 3. Stop.")
    >>> sorted(places), number
    ([4, 16, 45], 3)
    """
    found: set[int] = set()
    last: tuple[int, str | None, int] | None = None
    for match in _NUMBER.finditer(text):
        place = match.start("item")
        is_line = match["before"] is None or "\n" in match["space"]
        is_turn = is_line and text.rfind("\n", 0, place) + 1 in turns
        before = match["before"]
        if not (before is None or before in _BEFORE_NUMBER or place in starts or is_turn):
            continue
        number, style = int(match["inner"] or match["outer"]), match["sign"]
        counts_on = last is not None and last[:2] == (number - 1, style)
        is_line = is_line and not is_turn
        if counts_on:
            assert last is not None
            found.add(last[2])
        is_item = number < _LONE or style != "." or number == last_number + 1
        if counts_on or (is_line and is_item):
            found.add(place)
        if place in found or is_line or number == 1:
            last = number, style, place
    return found, last[0] if last else last_number


def next_word(text: str, place: int) -> Right:
    """Return the word at a place.

    >>> next_word("Mrs. Hall called.", 0)
    Right(word='Mrs.', kind='capital', verb='called')
    """
    found = _NEXT.match(text, place)
    assert found is not None
    word, is_alone = found["word"], text[found.end() : found.end() + 1] == "."
    if found["quote"]:
        return Right(word, "quote")
    if not word:
        return Right("", "bracket" if text.startswith(("(", "["), place) else "other")
    if word[0].isdigit():
        return Right(word, "digit")
    if not word[0].isupper():
        return Right(word, "lower")
    part = _PART.match(text, place)
    if part is not None and (part.end() == found.end() or word == "A"):
        return Right(f"{word}." if is_alone else word, "part")
    said = _SPEAKER.match(text, place)
    # "the U.S. No. 1", "Warner Bros. Pictures.": not the word that begins sentences
    kind: Kind = "capitals" if _CAPITAL.match(text, found.end()) else "capital"
    verb = said["verb"] or said["clitic"] if said else ""
    return Right(f"{word}." if is_alone else word, kind, verb)


def _left(text: str, match: re.Match[str]) -> Left:
    mark, closing = match["mark"], match["closing"]
    part = text[max(0, match.start() - _LONGEST) : match.start()]
    found = _TOKEN.search(part)
    token = found[0] if found else ""
    close = '"' if closing.strip(")]}") else ")" if closing else ""
    if "?" in mark or "\uff1f" in mark:
        return Left("", f"?{close}")
    if "!" in mark or "\uff01" in mark:
        return Left("" if close else token + "!", f"!{close}")
    if len(mark) > 1 or mark == "\u2026":
        return Left("", f"...{close}")
    if closing.startswith(("[", " [")):
        return Left("", ".]")
    if closing:
        return Left("", f".{close}")
    shape = _SHAPE.fullmatch(token)
    name = str(shape.lastgroup) if shape else "mixed"
    before = _WORD_BEFORE.search(part[: len(part) - len(token)].rstrip())
    word = before[0] if before else ""
    if name in _UNITS and word[-1:].isdigit():
        name += " number"
    elif name in ("initial", "number"):
        name += f" {_before(word, name == 'number')}"
    return Left(token, name)


def _before(word: str, is_number: bool) -> str:
    """Return the kind of the word before an initial or a number."""
    if not word or (word[-1] in ".?!:" and (len(word) > 2 or is_number)):
        return "first"
    if word[0].isupper():
        return "capital"
    if not word[-1].isalnum():
        return "mark"
    return "function" if word in FUNCTION_WORDS else "lower"


Counts = Mapping[str, int]
"""By "end" and by kinds of next words: how often a token ended a sentence, and how often it did not
before a word of this kind."""


class EndTable:
    """The counted odds."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        """Take the rows of a table: its first column names the kind of the row."""
        self._starts: dict[str, float] = {}
        self._tokens: dict[str, Counts] = {}
        self._shapes: dict[str, Counts] = {}
        self._words: dict[str, float] = {}
        self._verbs: dict[str, float] = {}
        self._unknown = 0.0
        for row, name, *values in rows:
            if row == "word":
                self._words.update(dict.fromkeys(values[0].split(), float(name)))
            elif row == "verb":
                self._verbs.update(dict.fromkeys(values[0].split(), float(name)))
            elif row == "unknown":
                self._unknown = float(name)
            elif row == "start":
                self._starts = dict(zip(KINDS, map(float, values), strict=True))
            else:
                counts = dict(zip(("end", *KINDS), map(int, values), strict=True))
                (self._tokens if row == "token" else self._shapes)[name] = counts
        self._odds = cache(self._odds_of)

    def ends(self, text: str, items: Collection[int] | None = None) -> Iterator[int]:
        """Yield the places in a text where sentences begin, the first left out. ``items`` are its
        ``item_numbers``, no sentences themselves."""
        if items is None:
            items, _ = item_numbers(text)
        for end in possible_ends(text):
            if end.is_blank:
                is_end = True
            elif end.joined is not None:
                # Unlike System.Out, an identifier
                is_end = end.joined[0].islower() and all(
                    word.capitalize() in self._words for word in end.joined
                )
            elif end.begin in items:
                is_end = False  # "2. The second one"
            else:
                right = next_word(text, end.place)
                before = text[max(0, end.begin - _LONGEST) : end.begin]
                is_end = self.score(end.left, right) > 0 and not (
                    right.word == "I" and end.left.token in self._tokens and _PHRASE.search(before)
                )
            if is_end:
                yield end.place

    def score(self, left: Left, right: Right) -> float:
        """Return the logarithm of the odds that a sentence ends between the two."""
        verb = self._said(left, right)
        if verb is not None:
            return -self._verbs[verb]
        kind = right.kind
        is_initial = right.word.endswith(".")
        is_counted = left.token in self._tokens or left.shape not in _NO_ABBREVIATIONS
        if kind == "part" and not is_initial and not is_counted:
            kind = "capital"  # "I saw Bob. B is a letter.": unlike "in Fig. B", "Eur. J. Biol."
        score = self._odds(left, kind)
        if right.kind in ("capital", "capitals"):
            known = self._words.get(right.word)
            if right.word == "I" and right.verb:
                known = _MOST  # "We met on Mon. I left": behind an abbreviation, a subject
            score += self._unknown if known is None else min(_MOST, max(_LEAST, known))
            if known is None and left.shape.startswith("initial"):
                score -= _NAME  # "We thank T. Carroll": names are rarely known
            elif known is None and left.shape == "...":
                # "He waited... Paris was far.", "It was... Paris."
                score += _NAME if right.verb and not is_initial else -_NAME
        return score

    def _said(self, left: Left, right: Right) -> str | None:
        """Return the verb of saying behind a question or exclamation, quoted or not."""
        if left.shape in _UNQUOTED and right.word in self._verbs:
            return right.word  # Who is it? asked Mary.
        if left.shape not in _QUOTED or right.verb not in self._verbs:
            return None
        is_pronoun = self._words.get(right.word, 0) >= _LEADS and right.word not in _PRONOUNS
        return None if is_pronoun else right.verb  # "Where to?" I said. / "Help!" Nobody answered.

    def is_word(self, token: str) -> bool:
        """Return whether this is a common word of letters, which no full stop shortens."""
        return len(token) > 1 and token.isalpha() and token.capitalize() in self._words

    def _odds_of(self, left: Left, kind: str) -> float:
        token = left.token
        counts = self._tokens.get(token)
        is_unit = left.shape.endswith(" number") and token.islower()
        is_number = self.is_word(token) and counts is not None and not any(map(counts.get, APART))
        if kind in APART and (is_unit or is_number):
            counts = None  # "Add 3 oz. Stir it.", "No. He left.": unlike "3 oz. flour", "No. 5"
        elif counts is None and len(token) > 1 and token.isupper():
            counts = self._tokens.get(token.capitalize())
        if counts is None:
            is_known = self.is_word(token) and not (is_unit and kind == "lower")
            counts = self._shapes.get("known" if is_known else left.shape, {})
            end, within = counts.get("end", 0) + 1.0, counts.get(kind, 0) + 0.5
        else:
            # A token may be before a kind of word that it was never seen before.
            total = sum(counts.values())
            more = 0.1 * total if kind == "lower" else min(1.0, 0.05 * (total - counts["end"]))
            end, within = counts["end"] + 0.2, counts[kind] + 0.2 + more
        return math.log(end * self._starts[kind] / within)


@cache
def end_table() -> EndTable:
    """Return the table that is part of the package."""
    content = files("reranker.text").joinpath("ends.tsv").read_text("utf-8")
    return EndTable(table_rows(content))


def table_rows(content: str) -> list[list[str]]:
    """Return the rows of a table's text, without its comments."""
    return [line.split("\t") for line in content.splitlines() if not line.startswith("#")]
