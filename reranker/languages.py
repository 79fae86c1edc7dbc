"""Languages by their codes of ISO 639: what a checkpoint is of, and what a user asks for."""

from __future__ import annotations

import re
import unicodedata

from reranker.errors import InputError

ENGLISH = "en"
"""The language of checkpoints that do not say one."""
_NAMES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fo": "Faroese",
    "fr": "French", "he": "Hebrew", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "pt": "Portuguese", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_CODE = re.compile("[a-z]{2,3}")
# Not the joiners U+200C and U+200D, which Persian and Indian scripts spell with.
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad]")


def checked_language(code: str) -> str:
    """The code itself. Raises InputError for what is none.

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
    """The language's name in English, or its code.

    >>> language_name("id"), language_name("yo")
    ('Indonesian', 'yo')
    """
    return _NAMES.get(code, code)


def composed(word: str) -> str:
    """The word in Unicode's composed form (NFC), without zero-width spaces and soft hyphens.

    >>> composed("cafe\\u0301\\u200b")
    'café'
    """
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", word)) or word
