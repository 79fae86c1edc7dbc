"""Is a text in a language that the parser has learned? By how many of its words are new to it."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.parsers.parser import Parser

# New words are at most 15 % of the dev sets that we know, biomedical ones included, and 70 % of
# German captions.
_MOST = 0.4
_ENOUGH = 200  # words
_FEWEST = 4


class LanguageCheck:
    """Takes the sentences of files, one after another."""

    def __init__(self, parser: Parser) -> None:
        self._unknown = getattr(parser, "unknown_words", None)
        self._file = ""
        self._words = self._new = 0
        self._is_decided = False

    def add(self, file: str, words: Sequence[str]) -> str | None:
        """Take a sentence; a warning, at most one for a file: that which ends here, or this one
        once enough of it is known."""
        if self._unknown is None:
            return None
        warning = None
        if file != self._file:
            warning = self.end()
            self._file, self._words, self._new, self._is_decided = file, 0, 0, False
        if not self._is_decided:
            spelled = [word for word in words if any(letter.isalpha() for letter in word)]
            self._words += len(spelled)
            self._new += self._unknown(spelled)
            if self._words >= _ENOUGH:
                warning = warning or self.end()
        return warning

    def end(self) -> str | None:
        """A warning for the file so far, if there has been none and it is due."""
        if self._is_decided or self._words < _FEWEST:
            return None
        self._is_decided = True
        share = self._new / self._words
        if share <= _MOST:
            return None
        return (
            f"{self._file}: {100 * share:.0f} % of its first {self._words} words are new to the "
            "parser: is this English? Trees will be poor otherwise"
        )
