"""Treebanks, n-best lists and raw text as one source: each sentence with its trees and their
probabilities. The counts of each sentence are kept, so that a run with ``--out`` can be resumed."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from reranker.errors import InputError, KindError, TreeError
from reranker.files.kinds import refuse_other_than_trees
from reranker.files.opening import input_digest, refuse_second_stdin
from reranker.files.records import AnswerCounts
from reranker.files.text import TextFile, open_text, read_lines
from reranker.nbest import NBest, ReadOptions, Rejected, read_nbest
from reranker.nbest.candidates import score_warnings
from reranker.nbest.dialects.registry import recognise
from reranker.nbest.words import printable
from reranker.parsers.choice import ParserChoice
from reranker.text.reading import refuse_other_than_text
from reranker.text.splitting import TextForm
from reranker.trees.treebank import Remarks, TreeReader, TreeText, treebank_files
from reranker.work.loop import Counts, Identity, Job, Source
from reranker.work.nbest_files import log_rejected, reading_identity
from reranker.work.parses import Parses, from_nbest, has_every_score
from reranker.work.texts import ParsedText, TextSettings, UnparsedSentences

File = str | TextFile  # the name of a file or, if it can be read only once, the opened file
FileForm = Literal["auto", "trees"] | TextForm
A = TypeVar("A")
logger = logging.getLogger(__name__)


class TreeSentence(NamedTuple):
    """A sentence with its trees."""

    read_digest: str
    """The digest that identifies the sentence when it is read again."""
    parses: Parses | None = None
    """None if no tree of the sentence can be used, and for a skipped sentence."""
    rejected: int = 0
    """The number of rejected trees; 1 for a sentence that was not parsed. Each was logged."""

    def digest(self) -> str:
        """Return a digest of the sentence's input."""
        return self.read_digest


class TreeJob(Job[TreeSentence, A | None]):
    """A job done with the trees of each sentence; subclasses define ``read``. A sentence without
    trees, and one whose trees cannot be used, has no answer."""

    def read(self, parses: Parses) -> A:
        """Return the answer to the trees of a sentence. May raise TreeError."""
        raise AssertionError(f"{type(self).__name__} does not read")

    def answers(self, sentences: Iterable[TreeSentence]) -> Iterator[tuple[TreeSentence, A | None]]:
        """Yield each sentence with its answer; log those that a TreeError leaves out."""
        for sentence in sentences:
            answer = None
            if (parses := sentence.parses) is not None:
                try:
                    answer = self.read(parses)
                except TreeError as error:
                    logger.warning("%s:%s: left out: %s", parses.file, parses.line, error)
                    sentence = sentence._replace(rejected=sentence.rejected + 1)
            yield sentence, answer

    def counts(self, sentence: TreeSentence, answer: A | None) -> AnswerCounts:
        """Count the rejected trees; a sentence without trees has failed."""
        return AnswerCounts(None if sentence.parses is None else 0, 0, sentence.rejected, 0)


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """The kind of the files, and the settings by which sentences get trees with probabilities."""

    form: FileForm = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)
    """The options for reading n-best lists."""
    text: TextSettings = field(default_factory=TextSettings)
    choice: ParserChoice = field(default_factory=ParserChoice)
    """The choice of the parser of text."""
    temperature: float | None = None
    """A tree's probability is in proportion to exp(score / temperature); None: the parser's, and 1
    for n-best lists."""


class TreeFiles(Source[TreeSentence]):
    """The sentences of all files, a source. Broken trees, and sentences without a tree, are logged;
    ``faults`` counts faults of other kinds."""

    def __init__(self, names: Sequence[str | Path], settings: TreeSettings) -> None:
        """Open the files, or those in a folder. Raises InputError for missing files."""
        self._settings = settings
        self.files = treebank_files(names)
        refuse_second_stdin(self.files)
        self.faults = 0
        """Files without a sentence, and sentences in which characters were replaced."""
        self._is_skipping = False
        self._remarks = Remarks(_reject)
        self._open = contextlib.ExitStack()
        recognised = self._all_recognised()
        first = next(recognised, None)  # before anything is written
        self._recognised_files = itertools.chain([first] if first else [], recognised)
        super().__init__(self._all())

    def __iter__(self) -> Iterator[TreeSentence]:
        self._is_skipping = False
        return super().__iter__()

    def skip(self) -> TreeSentence | None:
        """Skip a sentence without parsing it; None if there is none left."""
        self._is_skipping = True
        return super().skip()

    def identity(self) -> Identity:
        """Return everything on which the sentences depend."""
        settings = self._settings
        parser: Identity = {}
        with contextlib.suppress(InputError):  # there is none, and only a text needs one
            parser = settings.choice.identity()
        return {
            **parser,
            "files": [input_digest(file) for file in self.files],
            **reading_identity(settings.options),
            "as": settings.form,
            "words": settings.text.words,
            "longest": settings.text.longest,
            "speakers": settings.text.speakers,
            "temperature": settings.temperature,
        }

    def end(self, counts: Counts) -> None:
        """Raise InputError if no sentence has a tree."""
        if counts["sentences"] == counts["failed"]:
            raise InputError(f"{', '.join(self.files[:3])}: no sentence with a tree")

    def close(self) -> None:
        """Close the files."""
        self._open.close()

    def _all(self) -> Iterator[TreeSentence]:
        read = {"trees": self._trees, "lists": self._lists, "text": self._parsed}
        for kind, group in itertools.groupby(self._recognised_files, lambda each: each[0]):
            sources = [source for _, source in group]
            # One parser for text files that follow each other; of the others, file by file.
            for part in [sources] if kind == "text" else [[source] for source in sources]:
                is_empty = True
                for sentence in read[kind](part):
                    is_empty = False
                    yield sentence
                if is_empty and kind != "text":
                    self._reject(f"{', '.join(map(str, part))}: there is no sentence")

    def _all_recognised(self) -> Iterator[tuple[str, File]]:
        """Yield the kind of each file, and the file. A file of another kind is named, if it is not
        the only file."""
        for path in self.files:
            try:
                yield self._recognised(path)
            except KindError as error:
                if len(self.files) == 1:
                    raise
                self._reject(str(error))

    def _recognised(self, path: str) -> tuple[str, File]:
        """Return whether a file is trees, lists or text, and the file. Raises KindError if it is
        none of them."""
        form, given = self._settings.form, self._settings.options.format
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(open_text(path, streams=True))
            start = file.head()
            if given != "auto":
                kind = "trees" if given == "trees" else "lists"
            elif form != "auto":
                kind = "trees" if form == "trees" else "text"
            elif name := recognise(start.splitlines(keepends=True)):
                kind = "trees" if name == "trees" else "lists"
            else:
                kind = "text"
            if kind == "text":
                refuse_other_than_text(file.name, start)
            elif kind == "trees":
                refuse_other_than_trees(file.name, start)
            if file.size is not None and path != "-":
                return kind, path
            self._open.push(closing.pop_all())
            return kind, file

    def _reject(self, text: str) -> None:
        """Log a fault that belongs to no written sentence."""
        self.faults += 1
        _reject(text)

    def _trees(self, sources: Iterable[File]) -> Iterator[TreeSentence]:
        for source in sources:
            for piece in TreeReader(str(source), read_lines(source), self._remarks):
                if not piece.text:
                    continue
                place = TreeText(str(source), piece.line, piece.text, piece.problem)
                digest = place.digest()
                if self._is_skipping:
                    yield TreeSentence(digest)
                    continue
                try:
                    tree = place.tree()
                except TreeError as error:
                    _reject(f"{place}: tree rejected, {error.code}: {error}")
                    yield TreeSentence(digest, None, 1)
                    continue
                yield TreeSentence(digest, Parses(place.file, place.line, (tree,)))

    def _lists(self, sources: Iterable[File]) -> Iterator[TreeSentence]:
        options = self._settings.options
        has_said = False
        warned: set[str] = set()
        for source in sources:
            with contextlib.closing(read_nbest(source, options=options, warn=_reject)) as lists:
                for number, nbest in enumerate(lists, 1):
                    if self._is_skipping:
                        yield TreeSentence(nbest.digest())
                        continue
                    if len(nbest.candidates) > 1 and has_every_score(nbest):
                        for warning in score_warnings(nbest, warned):
                            logger.info("%s", warning)
                    temperature = self._settings.temperature or 1.0
                    sentence = _from_nbest(nbest, temperature, number, str(source))
                    parses = sentence.parses
                    is_scored = len(nbest.candidates) == 1 or has_every_score(nbest)
                    if parses is not None and not is_scored and not has_said:
                        has_said = True
                        logger.info(
                            "%s:%d: trees without scores: only the first of such a list is read, "
                            "and its probability is not known",
                            parses.file,
                            parses.line,
                        )
                    yield sentence

    def _parsed(self, sources: Iterable[File]) -> Iterator[TreeSentence]:
        settings = self._settings
        given: FileForm = settings.form
        form: TextForm = given if given in ("prose", "sentences", "tokens") else "text"
        text = ParsedText(sources, replace(settings.text, form=form), settings.choice)
        self._open.callback(text.close)
        temperature = settings.temperature or text.temperature
        parsed, trees = iter(text), ParsedTrees(temperature)
        unseen = {_origin_of(source): source for source in sources}
        for number in itertools.count(1):
            nbest = text.skip() if self._is_skipping else next(parsed, None)
            if nbest is None:
                break
            if nbest.origin is not None:
                unseen.pop(nbest.origin.file, None)
            if self._is_skipping:
                yield TreeSentence(nbest.digest())
            else:
                yield trees.of(nbest, number)
        self.faults += text.faults
        for source in unseen.values():
            self._reject(f"{source}: there is no sentence")


def _origin_of(source: File) -> str:
    """Return the name of a text in the origins of its sentences."""
    return printable(source.name if isinstance(source, TextFile) else str(Path(source)))


class ParsedTrees:
    """The trees of a text's sentences, from the parser's lists in order. Sentences that were not
    parsed, and trees that cannot be used, are logged."""

    def __init__(self, temperature: float) -> None:
        """Take the temperature by which scores are divided."""
        self._temperature = temperature
        self._unparsed = UnparsedSentences()

    def of(self, nbest: NBest, number: int) -> TreeSentence:
        """Return the trees of the next list, which is the text's list ``number``, from 1."""
        unparsed = self._unparsed.found(nbest)
        if unparsed is None:
            file = nbest.origin.file if nbest.origin else "text"
            return _from_nbest(nbest, self._temperature, number, file)
        if unparsed.is_continued:  # only the first part is logged and counted
            return TreeSentence(nbest.digest())
        _reject(f"{unparsed.place}: not parsed: {unparsed.reason}")
        return TreeSentence(nbest.digest(), None, 1)


def _from_nbest(nbest: NBest, temperature: float, number: int, file: str) -> TreeSentence:
    log_rejected(nbest, number)
    rejected = [*nbest.rejected]

    def reject(each: Rejected) -> None:
        rejected.append(each)
        _reject(f"{each.file}:{each.line}: candidate rejected, {each.code}: {each.message}")

    digest = nbest.digest()
    parses = from_nbest(nbest, temperature, reject)
    if parses is None and not rejected:
        _reject(f"{file}:{nbest.line}: a list without a tree")
        return TreeSentence(digest, None, 1)
    return TreeSentence(digest, parses, len(rejected))


def _reject(text: str) -> None:
    logger.warning("%s", text)
