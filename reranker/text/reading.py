"""From text files to sentences for a parser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from reranker.files.text import TextFile, open_text
from reranker.languages import is_invisible
from reranker.nbest.data import Origin, Sentence
from reranker.nbest.words import printable
from reranker.text.conventions import Convention
from reranker.text.kinds import checked, refuse_other_than_text
from reranker.text.splitting import LONGEST, Form, Stretch, stretches
from reranker.text.words import Word, fault, given_words, split_into_words
from reranker.trees.tree import short_repr

CUT = f"a part of more than {LONGEST:,} characters without an end of a sentence"
"""The problem of every part of an overlong sentence."""

_PIECE = 1 << 13  # characters


class TextSentence(NamedTuple):
    """A sentence of a text."""

    sentence: Sentence
    origin: Origin
    problem: str | None = None
    """Why it cannot be passed to a parser; None if it can."""
    fault: str | None = None
    """What was replaced in it by U+FFFD, the replacement character; None if nothing was."""
    position: int = 0
    """About how many bytes of all files it and the earlier sentences occupy."""

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def warning(self) -> str | None:
        """The warning about the sentence's ``fault``."""
        return f"{self.place}: {self.fault}; U+FFFD is in its place" if self.fault else None

    @property
    def place(self) -> str:
        return f"{self.origin.file}:{self.origin.line}"


class Refused(NamedTuple):
    """A line of a text that is left out."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: left out: {self.reason}"


class Text:
    """Iterates over the sentences of one or several texts, in order."""

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str] | TextFile],
        form: Form = "text",
        convention: Convention = "gum",
        longest: int = 200,
        *,
        is_known: bool = False,
    ) -> None:
        """Sentences of more than ``longest`` words have a ``problem``. Raises InputError for a file
        that cannot be opened, now or, if it has disappeared since, when its turn comes; and unless
        it ``is_known`` to be text, KindError for one of another kind, now or at its place."""
        self._is_known = is_known
        self._form, self._longest, self._convention = form, longest, convention
        self._split: Callable[[str], Sequence[Word]] = partial(
            given_words if form == "tokens" else split_into_words, convention=convention
        )
        self._files: list[str | os.PathLike[str] | TextFile] = []
        self._sizes: list[int | None] = []
        self._open: TextFile | None = None
        try:
            for path in paths:
                file = open_text(path, streams=True)
                self._open = file
                if not is_known:
                    refuse_other_than_text(file.name, file.head())
                self._sizes.append(file.size)
                # A system lets a program have some hundred files open; a pipe opens only once.
                is_later = file.size is not None and file is not path
                self._files.append(path if is_later else file)
                if is_later:
                    file.close()
        except BaseException:
            self.close()
            raise
        self._bytes = 0  # of the open file's text that was read
        self._read = 0  # bytes of the files before it

    @property
    def size(self) -> int | None:
        """Bytes of all files, compressed ones as they are; None if one is a pipe."""
        return None if None in self._sizes else sum(filter(None, self._sizes))

    def close(self) -> None:
        for file in (self._open, *self._files):
            if isinstance(file, TextFile):
                file.close()

    def __iter__(self) -> Iterator[TextSentence]:
        for path in self._files:
            self._bytes = 0
            line = 0
            with open_text(path) as file:
                self._open = file
                pieces = self._counted(file)
                if not self._is_known:
                    pieces = checked(file, pieces)
                for stretch in stretches(pieces, self._form, self._convention):
                    line = stretch.line
                    sentence = self._sentence(file.name, stretch)
                    yield sentence._replace(position=self._read + file.position(self._bytes))
            self._read += file.size or 0
            self._bytes = 0
            if file.damage:
                origin = Origin(printable(file.name), line + 1, "", ())
                problem = f"the file is cut short: {file.damage}"
                yield TextSentence(Sentence(()), origin, problem, position=self._read)

    def _counted(self, file: TextFile) -> Iterator[str]:
        for piece in file.pieces(_PIECE):
            self._bytes += (
                len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogateescape"))
            )
            yield piece

    def _sentence(self, name: str, stretch: Stretch) -> TextSentence:
        words = self._split(stretch.text)
        problem = None
        if stretch.is_cut:
            problem = CUT
        elif len(words) > self._longest:
            problem = f"{len(words)} words, more than {self._longest}"
        elif all(is_invisible(word.text) for word in words):
            problem = "no visible characters"
        offsets = tuple((stretch.start + word.start, stretch.start + word.end) for word in words)
        origin = Origin(printable(name), stretch.line, printable(stretch.text), offsets)
        sentence = Sentence(tuple(word.text for word in words))
        return TextSentence(sentence, origin, problem, fault(stretch.text))
