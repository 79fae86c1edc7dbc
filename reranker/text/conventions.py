"""How languages other than English are split into words and sentences."""

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
"""Whose words. Of English: those of GUM, CRAFT and OntoNotes 5, where hyphens and slashes are words
and quotes stay as they are, or those of the Wall Street Journal's treebank, which has
``state-of-the-art`` and writes quotes as two backquotes or apostrophes. Of other languages:
``spaced`` splits off punctuation, ``id`` also does what the Indonesian treebank does, ``zh`` finds
Chinese words, and with ``characters`` every Chinese or Japanese character is a word."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
_OF_LANGUAGES: dict[str, Convention] = {ENGLISH: "gum", "id": "id", "zh": "zh", "ja": "characters"}

# Toktok writes these as HTML; of equal length, so that places stay.
UNESCAPED = str.maketrans({"&": "\uff06", "|": "\uff5c"})
# Ends a sentence without a space behind it.
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
    """How text of a language is split if nothing else is said."""
    return _OF_LANGUAGES.get(language, "spaced")


def is_english(convention: Convention) -> bool:
    """Whether these are the words of an English treebank."""
    return convention in ("gum", "wsj")


def full_stops(text: str) -> Iterator[int]:
    """The ends of sentences after Chinese full stops and what closes with them.

    >>> list(full_stops("他来了。我走了。"))
    [4, 8]
    """
    return (match.end() for match in _FULL_STOP.finditer(text))


def tokens(text: str, convention: Convention) -> Iterable[str]:
    """The tokens of a sentence of another language, in which ``UNESCAPED`` was applied. Raises
    InputError if the library that finds them is not installed."""
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
    """The words with letters put together again that are neither Chinese nor ASCII: jieba takes
    them apart.

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
    """Whether it is a letter, or an accent on one, of a script that has spaces between words."""
    return unicodedata.category(character)[0] in "LM" and not UNSPACED.match(character)


def _without_clitic(token: str) -> list[str]:
    """``katanya`` is ``kata`` and ``nya`` in the Indonesian treebank."""
    stem = token.removesuffix(_CLITIC)
    if len(stem) < 3 or stem == token or not stem.isalpha() or token.lower() in _WHOLE:
        return [token]
    return [stem, _CLITIC]


@cache
def _toktok() -> ToktokTokenizer:
    from nltk.tokenize import ToktokTokenizer  # a second to import

    return ToktokTokenizer()
