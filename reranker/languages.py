"""Languages of checkpoints and users' texts, by their codes of ISO 639."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from reranker.errors import InputError

ENGLISH = "en"
"""The language of checkpoints that name none."""
_NAMES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fo": "Faroese",
    "fr": "French", "he": "Hebrew", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "pt": "Portuguese", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_CODE = re.compile("[a-z]{2,3}")
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
"""A character of Chinese, Japanese, Thai, Lao, Burmese or Khmer: no spaces between words."""
JOINERS = "\u200c\u200d"
"""Invisible characters that are part of the spelling in Persian and Indian scripts."""
INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""A zero-width space, a soft hyphen, or a mark of direction, which controls the display."""
_BRACKET = re.compile("-[LR][RSC]B-")
_LONGEST_NORMALISED = 200  # characters: more than any word has


def checked_language(code: str) -> str:
    """Return the code itself. Raises InputError for anything but a code.

    >>> checked_language("id")
    'id'
    """
    if not _CODE.fullmatch(code):
        names = ", ".join(f"{code} ({name})" for code, name in _NAMES.items())
        raise InputError(
            f"language {code!r:.40}: not a code of two or three letters, such as {names}"
        )
    return code


def language_name(code: str) -> str:
    """Return the language's name in English, or its code.

    >>> language_name("id"), language_name("yo")
    ('Indonesian', 'yo')
    """
    return _NAMES.get(code, code)


def composed(word: str) -> str:
    """Return the word in Unicode's composed form (NFC), without zero-width spaces, soft hyphens and
    marks of direction.

    >>> composed("cafe\\u0301\\u200b")
    'café'
    """
    if word.isascii():
        return word
    return normalised("NFC", INVISIBLE.sub("", word)) or word


def normalised(form: Literal["NFC", "NFKC"], word: str) -> str:
    """Return the word in a normal form of Unicode; a text too long for a word stays unchanged.
    Normalising sorts the marks of a letter in quadratic time, and a stranger can send any number of
    marks.

    >>> normalised("NFKC", "\u2075e\u0301")
    '5é'
    """
    return unicodedata.normalize(form, word) if len(word) <= _LONGEST_NORMALISED else word


def is_invisible(word: str) -> bool:
    """Return whether a word has no visible character: only zero-width spaces, for instance."""
    return not INVISIBLE.sub("", word)


def is_right_to_left(words: Iterable[str]) -> bool:
    """Return whether a sentence is written from right to left, as most of its letters are, by their
    bidirectional classes in Unicode. Brackets (``-LRB-``) do not count.

    >>> is_right_to_left(["קראתי", "-LRB-", "פעמיים", "-RRB-", "על", "NLP", "."])
    True
    """
    text = "".join(word for word in words if not _BRACKET.fullmatch(word))
    if text.isascii():
        return False
    classes = Counter(map(unicodedata.bidirectional, text))
    return classes["R"] + classes["AL"] > classes["L"]
