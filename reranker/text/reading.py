"""Sentences for a parser, from text files; anything but text is rejected: files of another kind,
trees and n-best lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from reranker.errors import KindError
from reranker.files.file_sample import FileSample
from reranker.files.kinds import LONGEST_START, kind_of
from reranker.files.opening import text_digest
from reranker.files.text import TextFile, open_text
from reranker.languages import is_invisible
from reranker.nbest.data import Origin, Sentence
from reranker.nbest.dialects.registry import recognise_by_a_line
from reranker.nbest.words import printable
from reranker.text.conventions import Convention
from reranker.text.layout import ZERO_WIDTH
from reranker.text.marked import is_marked, marked_sentences
from reranker.text.splitting import CHOICES, LONGEST, Reading, Stretch, TextForm, stretches
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
    """The reason why the sentence cannot be passed to a parser, or None."""
    fault: str | None = None
    """The characters replaced by U+FFFD, the replacement character; None if there are none."""
    position: int = 0
    """About how many bytes of all files this sentence and the earlier ones occupy."""

    def __repr__(self) -> str:
        return short_repr(self)

    def digest(self) -> str:
        """Return a digest that identifies the sentence when it is read again."""
        return text_digest(self.origin.text, str(self.origin.offsets), *self.sentence.words)

    @property
    def warning(self) -> str | None:
        """Return the warning about the sentence's ``fault``."""
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
    """An iterator over the sentences of one or several texts, in order."""

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str] | TextFile],
        form: TextForm = "text",
        convention: Convention = "gum",
        longest: int = 200,
        *,
        is_known: bool = False,
        speakers: bool | None = None,
        report: Callable[[str], None] | None = None,
        choices: Mapping[Reading, str] = CHOICES,
    ) -> None:
        """Open the texts. Sentences of more than ``longest`` words have a ``problem``;
        ``speakers`` is None if the text decides whether the names of speakers are there;
        ``report`` is called with messages about the layout, which name the ``choices`` of other
        readings. Raises InputError for a file that cannot be opened, now or when it is read; unless
        ``is_known``, raises KindError for a file that is not text, now or at the place where it
        stops being text."""
        self._is_known = is_known
        self._form, self._longest, self._convention = form, longest, convention
        self._speakers, self._report, self._choices = speakers, report, choices
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
        self._bytes = 0  # read from the open file's text
        self._read = 0  # bytes of the files before it

    @property
    def size(self) -> int | None:
        """Return the bytes of all files, compressed ones as they are; None if one is a pipe."""
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
                    pieces = _checked(file, pieces)
                form = self._form
                report = partial(self._tell, file.name)
                found: Iterator[tuple[Stretch, str | None]]
                if is_marked(file.head()):
                    form = "tokens"
                    report("sentences are between <s> and </s>, their words between spaces")
                    found = marked_sentences(pieces)
                else:
                    split = stretches(
                        pieces, form, self._convention, self._speakers, report, self._choices
                    )
                    found = ((stretch, None) for stretch in split)
                for stretch, problem in found:
                    line = stretch.line
                    sentence = self._sentence(file.name, stretch, form)
                    yield sentence._replace(
                        problem=sentence.problem or problem,
                        position=self._read + file.position(self._bytes),
                    )
            self._read += file.size or 0
            self._bytes = 0
            if file.damage:
                origin = Origin(printable(file.name), line + 1, "", ())
                problem = f"the file cannot be read to its end: {file.damage}"
                yield TextSentence(Sentence(()), origin, problem, position=self._read)

    def _counted(self, file: TextFile) -> Iterator[str]:
        for piece in file.pieces(_PIECE):
            self._bytes += (
                len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogateescape"))
            )
            yield piece

    def _tell(self, name: str, message: str) -> None:
        if self._report is not None:
            self._report(f"{name}: {message}")

    def _sentence(self, name: str, stretch: Stretch, form: TextForm) -> TextSentence:
        split = given_words if form == "tokens" else split_into_words
        read = stretch.text if stretch.read is None else stretch.read
        words = _over_entities(split(read, self._convention), stretch)
        problem = None
        if stretch.is_cut:
            problem = CUT
        elif len(words) > self._longest:
            problem = f"{len(words)} words, more than {self._longest}"
        elif all(is_invisible(word.text) for word in words):
            problem = "no visible characters"
        offsets = tuple((stretch.start + word.start, stretch.start + word.end) for word in words)
        origin = Origin(
            printable(name), stretch.line, printable(stretch.text), offsets, stretch.speaker
        )
        sentence = Sentence(tuple(word.text for word in words))
        return TextSentence(sentence, origin, problem, fault(stretch.text))


def _over_entities(words: list[Word], stretch: Stretch) -> list[Word]:
    """Return the words with the places of the whole entities, such as &amp;, that were read as
    their characters."""
    read, text = stretch.read, stretch.text
    if read is None or "&" not in text:
        return words
    placed = []
    for word, start, end in words:
        while end < len(read) and read[end] == ZERO_WIDTH != text[end]:
            end += 1
        placed.append(Word(word, start, end))
    return placed


def other_than_text(text: str, is_first: bool = True) -> str | None:
    """Return the kind of file that a text's beginning, or later part, looks like, with a remedy;
    None if it may be text."""
    text = text[:LONGEST_START]
    sample = FileSample(text, is_first)
    is_list = is_first and recognise_by_a_line(sample.text.splitlines(keepends=True))
    kind = None if is_list else kind_of(text, is_first)
    if kind:
        return kind.described("text")
    if is_list or sample.has_trees:
        return "trees; to rank them, rerank --nbest FILE"
    return None


def refuse_other_than_text(name: str, text: str) -> None:
    """Raise KindError if a file with this beginning is not text."""
    if kind := other_than_text(text):
        raise KindError(f"{name}: not text: looks like {kind}")


def _checked(file: TextFile, pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces of a text. Raises KindError, naming the line, once a part anywhere in the
    text is not text."""
    part: list[str] = []
    size = line = 0
    start = 1
    for piece in pieces:
        yield piece
        part.append(piece)
        size += len(piece)
        line += piece.endswith("\n")
        if size >= LONGEST_START:
            _check_part(file.name, start, part)
            # Keep half: the end of the file alone would be too little to judge by.
            part = part[len(part) // 2 :]
            size = sum(map(len, part))
            start = line - sum(each.endswith("\n") for each in part) + 1
    _check_part(file.name, start, part)


def _check_part(name: str, line: int, part: list[str]) -> None:
    if line == 1:
        refuse_other_than_text(name, "".join(part))
    elif kind := other_than_text("".join(part), is_first=False):
        raise KindError(f"{name}:{line}: not text from here on: looks like {kind}")
