"""Comparison of spellings of a word: parsers escape, lower-case and hide words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from reranker.errors import TreeError
from reranker.files.text import SURROGATE
from reranker.languages import normalised
from reranker.nbest.notation import PLACEHOLDER

_ESCAPES = {
    "-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}",
    "``": '"', "''": '"', "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"', "`": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'", "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}  # fmt: skip
_ESCAPE = re.compile("|".join(map(re.escape, sorted(_ESCAPES, key=len, reverse=True))))
_BACKSLASHED = re.compile(r"\\([()\[\]{}/*])")
# RNNG's and Berkeley's UNK-LC-s, Choe & Charniak's <cunks>, fairseq's <unk>.
_UNKNOWN = re.compile(r"UNK(?:-.*)?|<(?:un)?c?unk.*>", re.DOTALL)
_OPENING = re.compile(r"\\?\(")
_CLOSING = re.compile(r"\\?\)")
_WORD = re.compile(r"\S+", re.ASCII)
_MAX_CACHED_LENGTH = 200  # characters of two words whose comparison is cached
_LONG_WORDS = 16  # long words whose canonical spelling is cached


def printable(text: str) -> str:
    """Replace the bytes of ``text`` that are not UTF-8, so that it can be written again."""
    return SURROGATE.sub("\ufffd", text)


def is_placeholder(word: str) -> bool:
    """Return whether a parser prints ``word`` in place of an unknown word."""
    return word == PLACEHOLDER or (word[0] in "U<" and _UNKNOWN.fullmatch(word) is not None)


def escaped(word: str) -> str:
    """Return the word as it can stand in a tree: brackets written -LRB- and -RRB-."""
    return word if word.isalnum() else _CLOSING.sub("-RRB-", _OPENING.sub("-LRB-", word))


_WRITTEN = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "``": '"', "''": '"',
}  # fmt: skip


def written(word: str) -> str:
    """Return a treebank's word as it is written in running text."""
    return _WRITTEN.get(word, word)


def split_words(text: str) -> list[str]:
    """Return the words between ASCII white space: as in trees, a no-break space belongs to its
    word."""
    return _WORD.findall(text)


def same_word(word: str, wanted: str) -> bool:
    """Return whether ``word`` stands for ``wanted``: the same word, a placeholder, or the same word
    escaped, quoted, capitalised or composed (Unicode) differently."""
    if word == wanted:
        return True
    if len(word) + len(wanted) <= _MAX_CACHED_LENGTH:
        return _stands_for(word, wanted)
    # A long word of the sentence may be compared with a word of every candidate.
    return is_placeholder(word) or _canonical(word) == _canonical_of_long(wanted)


@lru_cache(maxsize=65_536)
def _stands_for(word: str, wanted: str) -> bool:
    return is_placeholder(word) or _canonical(word) == _canonical(wanted)


def check_words(words: Sequence[str], expected: Sequence[str]) -> None:
    """Raise TreeError (``wrong-length``, ``wrong-words``) unless ``words`` stand for ``expected``,
    place by place."""
    if len(words) != len(expected):
        raise TreeError("wrong-length", f"{len(words)} words where the list has {len(expected)}")
    for place, (word, wanted) in enumerate(zip(words, expected, strict=True)):
        if not same_word(word, wanted):
            raise wrong_word(place, word, wanted)


def wrong_word(place: int, word: str, wanted: str) -> TreeError:
    """Return the error for a word that does not stand for the word ``wanted`` at ``place``."""
    message = f"word {place + 1} is {word[:40]!r} where the list has {wanted[:40]!r}"
    return TreeError("wrong-words", message)


def _canonical(word: str) -> str:
    text = _BACKSLASHED.sub(r"\1", normalised("NFC", word)).lower()
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


_canonical_of_long = lru_cache(maxsize=_LONG_WORDS)(_canonical)
