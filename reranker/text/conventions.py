"""Conventions for splitting text of any language into words and sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from reranker.errors import needing
from reranker.languages import ENGLISH, UNSPACED

if TYPE_CHECKING:
    from nltk.tokenize import ToktokTokenizer

Convention = Literal["gum", "wsj", "spaced", "id", "zh", "characters"]
"""The convention that words follow. English: ``gum`` is for GUM, CRAFT and OntoNotes 5, where
hyphens and slashes are words and quotes stay unchanged; ``wsj`` is for the Wall Street Journal's
treebank, which has ``state-of-the-art`` and writes quotes as two backquotes or apostrophes. Other
languages: ``spaced`` splits off punctuation, ``id`` also splits off the Indonesian clitic, ``zh``
finds Chinese words, and with ``characters`` every Chinese or Japanese character is a word."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
_OF_LANGUAGES: dict[str, Convention] = {ENGLISH: "gum", "id": "id", "zh": "zh", "ja": "characters"}

# Toktok writes these as HTML. The replacements are as long, so that places stay.
UNESCAPED = str.maketrans({"&": "\uff06", "|": "\uff5c"})
# Full stops that end a sentence without a space behind them.
_FULL_STOP = re.compile("[\u3002\uff01\uff1f\uff61]+[\"'\u201d\u2019\u300d\u300f\uff09\u3011)]*")
_CHARACTER = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\u3099\u309a]?"
    "|(?:[^\\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[\u0300-\u036f])+"
    "(?:[.,][0-9]+)*|\\S"
)
_CLITIC = "nya"
# Words of the Indonesian treebank that end in -nya and stay whole more often than not.
_WHOLE = frozenset(
    [
        "adanya",
        "agaknya",
        "akhirnya",
        "akibatnya",
        "anehnya",
        "antaranya",
        "awalnya",
        "banyaknya",
        "berikutnya",
        "bertanya",
        "biasanya",
        "hanya",
        "khususnya",
        "lainnya",
        "mestinya",
        "misalnya",
        "nantinya",
        "pertanya",
        "punya",
        "rupanya",
        "sayangnya",
        "sebabnya",
        "sebagainya",
        "sebaliknya",
        "sebelumnya",
        "sebenarnya",
        "sebetulnya",
        "seharusnya",
        "selanjutnya",
        "semestinya",
        "sepenuhnya",
        "sesungguhnya",
        "setidaknya",
        "soalnya",
        "tampaknya",
        "tanya",
        "terbentuknya",
        "umumnya",
    ]
)


def convention_of(language: str) -> Convention:
    """Return the default convention for text of a language."""
    return _OF_LANGUAGES.get(language, "spaced")


def is_english(convention: Convention) -> bool:
    """Return whether the convention is an English treebank's."""
    return convention in ("gum", "wsj")


def full_stops(text: str) -> Iterator[int]:
    """Yield the ends of sentences after Chinese full stops and the marks that close with them.

    >>> list(full_stops("他来了。我走了。"))
    [4, 8]
    """
    return (match.end() for match in _FULL_STOP.finditer(text))


def tokens(text: str, convention: Convention) -> Iterable[str]:
    """Return the tokens of a sentence of another language, to which ``UNESCAPED`` was applied.
    Raises InputError if the library that finds them is not installed."""
    if convention == "characters":
        return _CHARACTER.findall(text)
    if convention == "zh":
        with needing(
            "Chinese words are found by jieba: pip install 'parse-reranker[languages]'; or give "
            "them with --tokens, or take --words characters"
        ):
            import jieba
        jieba.setLogLevel("ERROR")
        return (word for word in _joined(jieba.cut(text)) if not word.isspace())
    found: Iterable[str] = _toktok().tokenize(text)
    if convention == "id":
        found = (part for token in found for part in _without_clitic(token))
    return found


def _joined(found: Iterable[str]) -> Iterator[str]:
    """Yield the words with letters joined again that are neither Chinese nor ASCII: jieba takes
    such words apart.

    >>> list(_joined(["caf", "é", "很", "大"]))
    ['café', '很', '大']
    """
    last = ""
    for word in found:
        if last and _is_letter(last[-1]) and _is_letter(word[0]):
            last += word
            continue
        if last:
            yield last
        last = word
    if last:
        yield last


def _is_letter(character: str) -> bool:
    """Return whether this is a letter, or an accent, of a script with spaces between words."""
    return unicodedata.category(character)[0] in "LM" and not UNSPACED.match(character)


def _without_clitic(token: str) -> list[str]:
    """Split a clitic off, as the Indonesian treebank does: ``katanya`` is ``kata`` and ``nya``."""
    stem = token.removesuffix(_CLITIC)
    if len(stem) < 3 or stem == token or not stem.isalpha() or token.lower() in _WHOLE:
        return [token]
    return [stem, _CLITIC]


@cache
def _toktok() -> ToktokTokenizer:
    from nltk.tokenize import ToktokTokenizer  # a second to import

    return ToktokTokenizer()
