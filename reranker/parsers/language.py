"""Checks whether a text is in a language the parser has learned, by the share of words that are new
to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.languages import UNSPACED, language_name
from reranker.parsers.parser import Parser, language_of
from reranker.text.reading import TextSentence

# New words are at most 15% of the dev sets that we know, biomedical ones included, and 70% of
# German captions.
_MOST = 0.4
_ENOUGH = 200  # words
_FEWEST = 4


class LanguageCheck:
    """Checks the sentences of files, one after another."""

    def __init__(self, language: str, unknown_words: Callable[[Sequence[str]], int] | None) -> None:
        """Take the parser's language and the function that counts the words new to the parser; with
        None nothing is checked."""
        self._unknown = unknown_words
        self._name = language_name(language)
        self._file = ""
        self._words = self._new = 0
        self._is_decided = False

    @classmethod
    def of(cls, parser: Parser) -> LanguageCheck:
        """Return a check for the words that this parser reads."""
        return cls(language_of(parser), getattr(parser, "unknown_words", None))

    def add(self, file: str, words: Sequence[str]) -> str | None:
        """Add a sentence; returns a warning, at most one per file: about the file that ends here,
        or about this one once enough of it has been read."""
        if self._unknown is None:
            return None
        warning = None
        if file != self._file:
            warning = self.end()
            self._file, self._words, self._new, self._is_decided = file, 0, 0, False
        if not self._is_decided:
            spelled = [
                part for word in words for part in _parts(word) if any(map(str.isalpha, part))
            ]
            self._words += len(spelled)
            self._new += self._unknown(spelled)
            if self._words >= _ENOUGH:
                warning = warning or self.end()
        return warning

    def end(self) -> str | None:
        """Return a warning about the file so far, if one is due and there has been none."""
        if self._is_decided or self._words < _FEWEST:
            return None
        self._is_decided = True
        if self._new <= _MOST * self._words:
            return None
        return (
            f"{self._file}: {self._new} of the first {self._words} words are unknown. If this is "
            f"not {self._name}, expect poor trees"
        )


def with_warnings(sentences: Iterable[TextSentence], parser: Parser) -> Iterator[TextSentence]:
    """Yield the sentences; warn of another language than the parser's through Python's
    ``warnings``."""
    check = LanguageCheck.of(parser)
    for each in sentences:
        _warn(check.add(each.origin.file, each.sentence.words))
        yield each
    _warn(check.end())


def _warn(warning: str | None) -> None:
    if warning:
        warnings.warn(warning, stacklevel=3)


def _parts(word: str) -> str | list[str]:
    """Return the word itself, or its characters where no spaces separate words."""
    return word if UNSPACED.search(word) else [word]
