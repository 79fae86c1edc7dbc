"""The text that commands read: its files, the flags that say what its sentences and words are, and
the lists of its sentences from a parser."""

from __future__ import annotations

import argparse
import glob
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reranker.commands import parser_flags
from reranker.commands.progress import message, print_rejected, rejection
from reranker.errors import InputError, KindError
from reranker.files.opening import expanded, input_digest
from reranker.files.text import TextFile, open_text
from reranker.languages import ENGLISH
from reranker.nbest import NBest
from reranker.parsers.choice import ParserChoice
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import language_of, temperature_of
from reranker.parsers.running import ParsedLists
from reranker.ranking import Ranking
from reranker.text.conventions import CONVENTIONS, convention_of
from reranker.text.reading import CUT, Text, TextSentence, refuse_other_than_text
from reranker.text.splitting import LONGEST, Form


def add_arguments(parser: argparse.ArgumentParser, number: str) -> None:
    """Add the flags that say which text to read, ``number`` files as in argparse's ``nargs``, and
    what its sentences and words are."""
    text = "text, plain, .gz or .zst; - reads standard input"
    parser.add_argument("text", nargs=number, metavar="FILE", help=text)
    form = parser.add_mutually_exclusive_group()
    text = "one sentence a line (default: running text)"
    form.add_argument(
        "--sentences",
        dest="form",
        action="store_const",
        const="sentences",
        default="text",
        help=text,
    )
    text = "one sentence a line, a space between words"
    form.add_argument("--tokens", dest="form", action="store_const", const="tokens", help=text)
    add_words(parser)


def add_words(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add ``--words``; ``of`` says of which files, if not of all."""
    text = (
        f"{of}split words as GUM, CRAFT and OntoNotes 5 do (hyphens and slashes are words); "
        "as the Wall Street Journal's treebank does (they are not, and quotes become `` and ''); "
        "or those of other languages: at spaces and punctuation, as the Indonesian treebank does, "
        "Chinese words, or every Chinese character by itself (default: what the language has)"
    )
    parser.add_argument("--words", choices=CONVENTIONS, help=text)


def text_paths(names: list[str]) -> list[str]:
    """Return the files of a text, patterns expanded. Raises InputError for a name that cannot be a
    file's."""
    _check_files(names)
    paths = expanded(names)
    if paths.count("-") > 1:
        raise InputError("standard input (-) can be read only once")
    for path in paths:
        if os.path.isdir(path):
            raise InputError(f"{path}: cannot be read: it is a directory")
    return paths


def _check_files(names: list[str]) -> None:
    """Raise InputError if a sentence, quoted or not, stands where files should be named."""
    if any(name == "-" or os.path.lexists(name) or glob.glob(name) for name in names):
        return
    words = " ".join(names).split()
    ends = words[-1:] and words[-1].endswith((".", "?", "!"))
    has_names = any("." in word.rstrip(".") or os.sep in word for word in words)
    if len(words) > 2 and (ends or not has_names):
        raise InputError(
            f"there is no file {names[0]!r}: text is read from files or, with -, from standard "
            'input: echo "..." | rerank parse -'
        )


def checked_text(path: str) -> str | TextFile:
    """Return the path, or the opened file if it can be read only once. Raises InputError for a file
    that cannot be opened, KindError unless it is text."""
    file = open_text(path, streams=True)
    is_read_once = file.size is None or path == "-"
    try:
        refuse_other_than_text(file.name, file.head())
    except BaseException:
        file.close()
        raise
    if is_read_once:
        return file
    file.close()
    return path


def checked_texts(paths: Sequence[str]) -> tuple[list[str | TextFile], int]:
    """Return the texts among the files, as ``checked_text`` does, and the number of the others,
    which are named on standard error. Raises InputError for a file that cannot be opened, KindError
    if the only one is not text."""
    texts: list[str | TextFile] = []
    for path in paths:
        try:
            texts.append(checked_text(path))
        except KindError as error:
            if len(paths) == 1:
                raise
            _warn(str(error))
    return texts, len(paths) - len(texts)


class ParsedText:
    """The lists of a text's sentences, which are being parsed, a source of answers.py. Warnings go
    to standard error."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        choice: ParserChoice,
        sources: Iterable[str | TextFile],
        form: Form,
    ) -> None:
        """Open the text and create the parser. Raises InputError for a wrong file, parser or
        flag."""
        self._arguments, self._choice = arguments, choice
        self.parsers = choice.names
        self._parser = choice.create()
        self._language = LanguageCheck.of(self._parser)
        self._was_cut = False
        self.faults = 0  # the number of sentences in which characters were replaced
        self.language = arguments.language or language_of(self._parser)  # of the text
        _warn(parser_flags.of_another_language(self._parser, self.language))
        words = arguments.words or convention_of(self.language)
        self._text = Text(sources, form, words, arguments.longest)
        sentences = self._named()
        first = next(sentences, None)
        self.is_empty = first is None
        sentences = itertools.chain([] if first is None else [first], sentences)
        self._parsing = ParsedLists(self._parser, sentences, parser_flags.jobs(arguments))

    @property
    def inputs(self) -> list[str]:
        """Return the files of the text."""
        return text_paths(self._arguments.text)

    def identity(self) -> dict[str, Any]:
        """Return everything on which the lists depend."""
        arguments = self._arguments
        return {
            "text": [input_digest(path) for path in self.inputs],
            "form": arguments.form,
            "words": arguments.words or convention_of(arguments.language or ENGLISH),
            **parser_flags.identity(self._choice, arguments),
        }

    def report(self, ranking: Ranking, number: int) -> None:
        """Name what was rejected; of consecutive parts of one overlong sentence, only the first."""
        unparsed = next((each for each in ranking.rejected if each.code == "unparsed"), None)
        is_cut = unparsed is not None and unparsed.message == CUT
        if unparsed is None:
            print_rejected(ranking, number)
        elif not is_cut:
            rejection(f"rerank: {unparsed.file}:{unparsed.line}: a flat tree: {unparsed.message}")
        elif not self._was_cut:
            rejection(
                f"rerank: {unparsed.file}:{unparsed.line}: {LONGEST:,} characters without an end "
                "of a sentence: from here to the next end, parts of this size get flat trees"
            )
        self._was_cut = is_cut

    @property
    def temperature(self) -> float:
        """Return the parser's temperature, by which scores are divided."""
        return temperature_of(self._parser)

    @property
    def size(self) -> int | None:
        return self._text.size

    @property
    def position(self) -> int:
        return self._parsing.position

    def start(self) -> None:
        """Start the parser before the first list is requested."""
        self._parsing.start()

    def __iter__(self) -> Iterator[NBest]:
        return self

    def __next__(self) -> NBest:
        nbest = next(self._parsing, None)
        if nbest is None:
            _warn(self._language.end())
            raise StopIteration
        if nbest.origin is not None:
            _warn(self._language.add(nbest.origin.file, nbest.words))
        return nbest

    def skip(self) -> NBest | None:
        """Skip a sentence without parsing it."""
        return self._parsing.skip()

    def close(self) -> None:
        """Stop the parser and close the files."""
        self._parsing.close()
        self._text.close()

    def _named(self) -> Iterator[TextSentence]:
        for sentence in self._text:
            if sentence.warning:
                self.faults += 1
                rejection(f"rerank: {sentence.warning}")
            yield sentence


def _warn(warning: str | None) -> None:
    if warning:
        message(f"rerank: {warning}")
