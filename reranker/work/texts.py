"""Texts as a source: sentences, and the lists that a parser proposes for them."""

from __future__ import annotations

import glob
import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from reranker.errors import InputError, KindError
from reranker.files.opening import expanded, input_digest, refuse_second_stdin
from reranker.files.text import TextFile, open_text
from reranker.languages import ENGLISH, language_name
from reranker.nbest import NBest
from reranker.parsers.choice import ParserChoice
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import Parser, language_of, temperature_of
from reranker.parsers.running import ParsedLists
from reranker.process.machine import available_cores
from reranker.ranking import Ranking
from reranker.text.conventions import Convention, convention_of
from reranker.text.reading import CUT, Text, TextSentence, refuse_other_than_text
from reranker.text.splitting import CHOICES, LONGEST, Reading, TextForm
from reranker.work.loop import Identity, Source
from reranker.work.nbest_files import log_rejected

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The settings for splitting text into sentences, and the number parsed at once. Raises
    InputError for speakers in tokens."""

    form: TextForm = "text"
    words: Convention | None = None
    """None: the convention of the language."""
    longest: int = 200
    """Words of a sentence; longer ones are not parsed."""
    jobs: int | None = None
    """Parsers at once; None: one for each core."""
    speakers: bool | None = None
    """Whether names before turns are speakers; None: found by the text."""
    choices: Mapping[Reading, str] = field(default_factory=lambda: CHOICES)
    """The flags that messages name."""
    refuses_faults: bool = False
    """True: a sentence in which characters would be replaced is not parsed."""

    def __post_init__(self) -> None:
        if self.speakers and self.form == "tokens":
            raise InputError("--speakers is not for tokens, which are all words")


def text_paths(names: Sequence[str]) -> list[str]:
    """Return the files of a text, patterns expanded. Raises InputError for a name that cannot be a
    file's."""
    _check_files(names)
    paths = expanded(names)
    refuse_second_stdin(paths)
    for path in paths:
        if os.path.isdir(path):
            raise InputError(f"{path}: cannot be read: it is a directory")
    return paths


def _check_files(names: Sequence[str]) -> None:
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


def recognised_text(path: str) -> str | TextFile:
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


def recognised_texts(paths: Sequence[str]) -> tuple[list[str | TextFile], int]:
    """Return the texts among the files, as ``recognised_text`` does, and the number of the others,
    which are logged. Raises InputError for a file that cannot be opened, KindError if the only one
    is not text."""
    texts: list[str | TextFile] = []
    for path in paths:
        try:
            texts.append(recognised_text(path))
        except KindError as error:
            if len(paths) == 1:
                raise
            logger.info("%s", error)
    return texts, len(paths) - len(texts)


def foreign_language(parser: Parser, language: str) -> str | None:
    """Return a warning if the parser has learned another language than the text's."""
    if language_of(parser) == language:
        return None
    return (
        f"the parser's model is of {language_name(language_of(parser))}, not of "
        f"{language_name(language)}: trees will be poor"
    )


class TextSentences(Source[TextSentence]):
    """The sentences of texts."""

    def __init__(self, texts: Iterable[str | TextFile], settings: TextSettings) -> None:
        """Open the texts, and read the first sentence. Raises InputError for a wrong file."""
        texts, self._settings = [*texts], settings
        self._names = [*map(str, texts)]
        words = settings.words or convention_of(ENGLISH)
        self._text = Text(
            texts,
            settings.form,
            words,
            settings.longest,
            speakers=settings.speakers,
            report=partial(logger.info, "%s"),
            choices=settings.choices,
        )
        self._position = self.faults = 0
        """Sentences in which characters were replaced."""
        sentences = self._read()
        first = next(sentences, None)
        self.is_empty = first is None
        super().__init__(itertools.chain([] if first is None else [first], sentences))

    @property
    def size(self) -> int | None:
        return self._text.size

    @property
    def position(self) -> int:
        return self._position

    def identity(self) -> Identity:
        """Return everything on which the sentences depend."""
        settings = self._settings
        return {
            "text": [input_digest(name) for name in self._names],
            "form": settings.form,
            "words": settings.words,
            "longest": settings.longest,
            "speakers": settings.speakers,
        }

    def close(self) -> None:
        """Close the files."""
        self._text.close()

    def _read(self) -> Iterator[TextSentence]:
        """Yield the sentences; log the characters that are replaced in one."""
        for sentence in self._text:
            self._position = sentence.position
            if self._settings.refuses_faults:
                sentence = sentence._replace(problem=sentence.problem or sentence.fault)
            elif sentence.warning:
                self.faults += 1
                logger.warning("%s", sentence.warning)
            yield sentence


class ParsedText(Source[NBest]):
    """The lists of a text's sentences, which are being parsed."""

    def __init__(
        self, texts: Iterable[str | TextFile], settings: TextSettings, choice: ParserChoice
    ) -> None:
        """Create the parser, open the texts and read the first sentence. Raises InputError for a
        wrong file or parser."""
        self._choice = choice
        self.parsers = choice.names
        self._parser = choice.create()
        self._language = LanguageCheck.of(self._parser)
        self.language = choice.settings.language or language_of(self._parser)
        """The language of the text."""
        _warn(foreign_language(self._parser, self.language))
        words = settings.words or convention_of(self.language)
        self._text = TextSentences(texts, replace(settings, words=words))
        self.is_empty = self._text.is_empty
        jobs = settings.jobs or available_cores()
        self._parsing = ParsedLists(self._parser, self._text, jobs)
        super().__init__(self._checked())

    @property
    def size(self) -> int | None:
        return self._text.size

    @property
    def faults(self) -> int:
        """Return the number of sentences in which characters were replaced."""
        return self._text.faults

    def identity(self) -> Identity:
        """Return everything on which the lists depend."""
        return {**self._text.identity(), **self._choice.identity()}

    @property
    def temperature(self) -> float:
        """Return the parser's temperature, by which scores are divided."""
        return temperature_of(self._parser)

    @property
    def position(self) -> int:
        return self._parsing.position

    def start(self) -> None:
        """Start the parser before the first list is requested."""
        self._parsing.start()

    def skip(self) -> NBest | None:
        """Skip a sentence without parsing it."""
        return self._parsing.skip()

    def close(self) -> None:
        """Stop the parser and close the files."""
        self._parsing.close()
        self._text.close()

    def _checked(self) -> Iterator[NBest]:
        """Yield the lists; log that a text is in another language than the parser's."""
        for nbest in self._parsing:
            if nbest.origin is not None:
                _warn(self._language.add(nbest.origin.file, nbest.words))
            yield nbest
        _warn(self._language.end())


def _warn(warning: str | None) -> None:
    if warning:
        logger.info("%s", warning)


class Unparsed(NamedTuple):
    """A sentence that was not parsed."""

    place: str
    """File and line."""
    reason: str
    is_cut: bool
    """True for a part of an overlong sentence."""
    is_continued: bool
    """True if the sentence before is a part of the same overlong sentence."""


class UnparsedSentences:
    """Finds the sentences that were not parsed, among all of them in order."""

    def __init__(self) -> None:
        self._was_cut = False

    def found(self, sentence: NBest | Ranking) -> Unparsed | None:
        """Return the next sentence if it was not parsed, else None."""
        was_cut, self._was_cut = self._was_cut, False
        for each in sentence.rejected:
            if each.code == "unparsed":
                self._was_cut = each.message == CUT
                is_continued = was_cut and self._was_cut
                place = f"{each.file}:{each.line}"
                return Unparsed(place, each.message, self._was_cut, is_continued)
        return None


class UnparsedLog:
    """Logs the reasons why trees are flat, and rejected candidates; of consecutive parts of one
    overlong sentence, only the first."""

    def __init__(self) -> None:
        self._unparsed = UnparsedSentences()

    def __call__(self, ranking: Ranking, number: int) -> None:
        unparsed = self._unparsed.found(ranking)
        if unparsed is None:
            log_rejected(ranking, number)
        elif not unparsed.is_cut:
            logger.warning("%s: a flat tree: %s", unparsed.place, unparsed.reason)
        elif not unparsed.is_continued:
            logger.warning(
                "%s: %s characters without an end of a sentence: from here to the next end, "
                "parts of this size get flat trees",
                unparsed.place,
                f"{LONGEST:,}",
            )
