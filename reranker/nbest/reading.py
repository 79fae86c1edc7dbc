"""NBests from files, with formats, sentences and several parsers' lists combined."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Generator, Iterator, Sequence

from reranker.errors import InputError
from reranker.files.kinds import is_treebank, kind_of
from reranker.nbest.data import NBest, Order, Path, RawList, ReadOptions, Rejected, Sentence
from reranker.nbest.dialects.recognition import Head
from reranker.nbest.dialects.registry import DIALECTS, load, recognise
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.guess import not_nbest
from reranker.nbest.lines import NumberedLines
from reranker.nbest.notation import Notation
from reranker.nbest.own_notation import most_shown
from reranker.nbest.words import is_placeholder, printable

_LOGGER = logging.getLogger(__name__)


class NBestFile:
    """One opened file, its format known."""

    def __init__(self, path: Path, options: ReadOptions, warn: Callable[[str], None]) -> None:
        """Open the file; raise InputError if it cannot be read, is empty or is in no known
        format."""
        self._lines = NumberedLines(path, options.beam, warn)
        self._check = options.check
        self.name = printable(self._lines.name)
        try:
            self.format = self._find_format(options.format)
            """The name of the file's dialect."""
        except InputError:
            self.close()
            raise
        self._dialect = load(self.format)
        texts = self._dialect.candidate_texts(self._lines.head)
        self._shown = self._dialect.notation or most_shown(texts)
        if self._dialect.looks_for_blank_line:
            self._lines.look_for_blank_line()  # blank lines decide how lines form lists
        notation = self._dialect.notation
        self.rules = ReadingRules(
            self.name, notation, options.repair, options.restore, options.growth_limit
        )

    def _find_format(self, wanted: str) -> str:
        head = self._lines.head
        first = next(((number, text) for number, text in enumerate(head, 1) if text.strip()), None)
        if first is None:
            reason = f" ({self._lines.damage})" if self._lines.damage else ""
            raise InputError(f"{self.name} has no n-best lists{reason}")
        name = recognise(head) if wanted == "auto" else wanted
        is_sure = name and (wanted == "auto" or DIALECTS[name].shows_in_a_line)
        kind = None if name is None or is_sure else kind_of("".join(head))
        if name is None or (kind and not (name == "trees" and is_treebank(kind))):
            raise not_nbest(self.name, head, *first)
        return name

    def check_format(self) -> None:
        """Raise InputError if the user named a format, but the file looks like another one; for a
        file whose first list has no usable candidate."""
        named, found = DIALECTS[self.format], recognise(self._lines.head)
        if found in (None, self.format) or named.needs_beam:
            return
        if not named.recognise(Head(self._lines.head)):
            raise InputError(
                f"{self.name}: no candidate of the first list is one in format {self.format}; the "
                f"file looks like {found}"
            )

    @property
    def description(self) -> str:
        """Return the format, and the notation of candidates if it is not obvious."""
        details = []
        if self._dialect.layout:
            details.append(self._dialect.layout(self._lines.head, self._lines.beam))
        elif self._shown is Notation.BARE:
            details.append("without part-of-speech nodes")
        elif self._shown is Notation.LINEARIZED:
            details.append("linearised trees")
        if self.rules._replace(notation=self._shown).repairs:
            details.append("broken candidates are repaired")
        return self.format + (f" ({'; '.join(details)})" if details else "")

    def raw_lists(self) -> Iterator[RawList]:
        """Yield the lists of the file, unchanged."""
        for raw in self._dialect.read(self._lines):
            if self._check is not None:
                self._check(raw)
            yield raw

    @property
    def size(self) -> int | None:
        """Return the bytes of the file; None if it is a pipe."""
        return self._lines.size

    @property
    def position(self) -> int:
        """Return about where in a file of known size the lists read so far end."""
        return self._lines.position

    def close(self) -> None:
        self._lines.close()


class NBestFiles:
    """The lists of one file, or of several pooled sentence by sentence, one NBest at a time."""

    def __init__(self, files: list[NBestFile], tokens: Path | tuple[Sentence, ...] | None) -> None:
        self.files = files
        self._lists = _lists(files, tokens)

    def close(self) -> None:
        """Close the files; reading all lists closes them, too."""
        self._lists.close()
        for file in self.files:
            file.close()

    @property
    def size(self) -> int | None:
        """Return the bytes of all files, compressed ones as they are; None if one is a pipe."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def position(self) -> int:
        """Return about how many of these bytes the lists read so far occupy."""
        return sum(file.position for file in self.files)

    def __iter__(self) -> Iterator[NBest]:
        return self

    def __next__(self) -> NBest:
        return next(self._lists)


def _lists(
    files: list[NBestFile], tokens: Path | tuple[Sentence, ...] | None
) -> Generator[NBest, None, None]:
    raw_lists = itertools.zip_longest(*(file.raw_lists() for file in files))
    sentences: Iterator[Sentence] | None = None
    if isinstance(tokens, tuple):
        sentences = iter(tokens)
    elif tokens is not None:
        from reranker.nbest.tokens_file import read_sentences

        sentences = read_sentences(tokens)
    position = -1
    try:
        for position, raws in enumerate(raw_lists):
            sentence = None
            if sentences is not None:
                sentence = next(sentences, None)
                if sentence is None:
                    names = ", ".join(file.name for file in files)
                    where = "the text" if isinstance(tokens, tuple) else tokens
                    raise InputError(
                        f"{where} holds {position} sentences, but {names} has more lists"
                    )
            pooled = _pooled(files, raws, sentence, position)
            if position == 0 and not pooled.candidates:
                for file in files:
                    file.check_format()
            yield pooled
        for place, sentence in enumerate(sentences or (), position + 1):
            yield _pooled(files, [None] * len(files), sentence, place)
    finally:
        for file in files:
            file.close()


def _pooled(
    files: list[NBestFile], raws: Sequence[RawList | None], sentence: Sentence | None, position: int
) -> NBest:
    """Pool the candidates of all files for one sentence, the first file's first."""
    if sentence is None and len(files) > 1:
        sentence = _known_words(files, raws)
    parts: list[NBest] = []
    first_index = 0
    for file, raw in zip(files, raws, strict=True):
        if raw is None:
            message = f"{file.name} ends before the list of sentence {position + 1}"
            missing = Rejected(first_index, 0, "missing", message, "", file.name)
            parts.append(NBest(str(position), (), (missing,), 0, sentence))
        else:
            parts.append(accept(raw, file.rules, sentence, first_index))
            first_index += len(raw.candidates)
    if len(parts) == 1:
        return parts[0]
    named = next((part for part in parts if part.line), parts[0])
    candidates = tuple(candidate for part in parts for candidate in part.candidates)
    rejected = tuple(entry for part in parts for entry in part.rejected)
    order: Order = "score" if any(part.order == "score" for part in parts) else parts[0].order
    return NBest(named.id, candidates, rejected, named.line, sentence, order)


def _known_words(files: list[NBestFile], raws: Sequence[RawList | None]) -> Sentence | None:
    """Return the words of the first file that hides none, to compare the other files with."""
    hidden: Sentence | None = None
    for file, raw in zip(files, raws, strict=True):
        if raw is None or (file.rules.notation is Notation.LINEARIZED and not raw.sentence):
            continue
        part = accept(raw, file.rules)
        if part.sentence:
            return part.sentence
        if part.candidates:
            words = tuple(part.words)
            if not any(map(is_placeholder, words)):
                return Sentence(words)
            hidden = hidden or Sentence(words)
    return hidden


def read_nbest(
    *paths: Path,
    options: ReadOptions = ReadOptions(),
    warn: Callable[[str], None] = _LOGGER.warning,
) -> NBestFiles:
    """Read the lists of plain, gzip or zstd files, of standard input for ``-`` or of text in memory
    (``TextInMemory``), in order.

    Several files are several parsers' lists for the same sentences: candidates of the first file
    come first. A list is yielded for every sentence, even if no candidate can be used. ``warn`` is
    called once for each file that has unusable scores.

    Raises InputError, now or while reading, if a file cannot be read or is not an n-best file, or
    if there are more lists than sentences in ``options.tokens``.
    """
    if options.format != "auto":
        if options.format not in DIALECTS:
            raise InputError(f"unknown format {options.format!r}; there are {', '.join(DIALECTS)}")
        entry = DIALECTS[options.format]
        if entry.needs_beam and options.beam is None:
            raise InputError(f"format {options.format} needs 'beam', the number of lines of a list")
    with contextlib.ExitStack() as opened:
        files = []
        for path in paths:
            files.append(NBestFile(path, options, warn))
            opened.callback(files[-1].close)
        opened.pop_all()  # no error: NBestFiles closes them
    return NBestFiles(files, options.tokens)
