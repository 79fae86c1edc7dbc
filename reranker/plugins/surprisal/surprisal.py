"""Text -> the surprisal of its words, as the user wrote them; ``reranker.surprisal``."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from reranker.checkpoints.ensemble_file import ModelNames, language_of_models
from reranker.errors import InputError
from reranker.files.records import AnswerCounts
from reranker.files.table import data_frame
from reranker.nbest import NBest
from reranker.nbest.data import Origin, Sentence
from reranker.plugins.surprisal.beam import Width
from reranker.plugins.surprisal.forward import ForwardModels, load_forward
from reranker.plugins.surprisal.hindsight import read_list
from reranker.plugins.surprisal.sentence import (
    SentenceMeasures,
    WordMeasures,
    bracketed,
    read_sentence,
)
from reranker.plugins.surprisal.spelling import Spelling
from reranker.process.cancellation import Cancellation, result_of
from reranker.process.forks import ForkSafeCache, submitted
from reranker.text.conventions import Convention, convention_of
from reranker.text.given import TextOrFile, checked_text, sentences, warn_about_text
from reranker.text.reading import TextSentence
from reranker.text.splitting import TextForm
from reranker.trees.tree import quoted
from reranker.work import loop
from reranker.work.loop import Identity, Job, Source
from reranker.work.sinks import ListSink

if TYPE_CHECKING:
    from pandas import DataFrame

Unit = Literal["bits", "nats"]
Rows = Literal["word", "token"]
"""The unit of a row: a word as it is written, up to the next white space, or each of its tokens."""

MEASURES = (
    *("surprisal", "syntactic", "lexical", "spelling", "entropy_before", "entropy"),
    *("opened", "open", "closed"),
)
COLUMNS = ("sentence", "word", "text", "start", "end", "tokens", "unknown", *MEASURES, "tree")
HINDSIGHT = "hindsight"
"""The name of the first measure where the words' trees are those of a whole sentence's list."""
_IN_UNITS = MEASURES[:6]
_WAITING = 4  # sentences for each thread, finished ones that wait for their turn included

_loaded = ForkSafeCache()


@dataclass(frozen=True, slots=True, repr=False)
class SentenceSurprisal:
    """The measures of the words of a sentence."""

    number: int
    """The sentence's number, from 1."""
    source: TextSentence
    measures: SentenceMeasures | None
    """None if the sentence was not read."""
    unit: Unit
    rows_are: Rows = "word"
    problem: str | None = None
    """The reason why the sentence was not read."""
    nbest: NBest | None = None
    """The list that was read in place of a text."""

    def __repr__(self) -> str:
        words = f"{len(self.source.origin.offsets)} words"
        return f"SentenceSurprisal({self.number}, {quoted(self.source.origin.text)}, {words})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Return ``COLUMNS``, the surprisal of a list called ``HINDSIGHT``."""
        return COLUMNS if self.nbest is None else named_hindsight(COLUMNS)

    @property
    def tree(self) -> str:
        """Return the beam's most probable tree; "" if there is none."""
        return bracketed(self.measures.trees[0][0]) if self.measures else ""

    @property
    def scale(self) -> float:
        """Return the number of units in a nat."""
        return 1 / math.log(2) if self.unit == "bits" else 1.0

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each word, by ``columns``. All measures of a sentence that was not read
        are None, so that no word is lost."""
        text, offsets = self.source.origin.text, self.source.origin.offsets
        first = offsets[0][0] if offsets else 0
        measures: list[WordMeasures | None] = [None] * len(offsets)
        if self.measures is not None:
            measures = [*self.measures.words]
        rows: list[dict[str, Any]] = []
        for start, end, joined in self._written(measures):
            row: dict[str, Any] = {"sentence": self.number, "word": len(rows) + 1}
            row |= {"text": text[start - first : end - first], "start": start, "end": end}
            for name, column in zip(COLUMNS[5:], self.columns[5:], strict=True):
                value = getattr(joined, name, None)
                scale = self.scale if name in _IN_UNITS else 1.0
                row[column] = round(value * scale, 4) if isinstance(value, float) else value
            rows.append(row)
        return rows

    def _written(
        self, measures: list[WordMeasures | None]
    ) -> Iterator[tuple[int, int, WordMeasures | None]]:
        """Yield the words with their places; tokens without white space between them are one."""
        held: tuple[int, int, WordMeasures | None] | None = None
        for (start, end), measure in zip(self.source.origin.offsets, measures, strict=True):
            if held and self.rows_are == "word" and held[1] == start:
                joined = held[2].joined(measure) if held[2] and measure else None
                held = held[0], end, joined
                continue
            if held:
                yield held
            held = start, end, measure
        if held:
            yield held


class SurprisalReader:
    """Forward models, and how they read."""

    def __init__(
        self,
        models: ForwardModels,
        width: Width = Width(),
        unit: Unit = "bits",
        rows_are: Rows = "word",
    ) -> None:
        """Raise InputError for another unit and other rows."""
        for name, value, kind in (("unit", unit, Unit), ("rows", rows_are, Rows)):
            if value not in get_args(kind):
                choices = " or ".join(get_args(kind))
                raise InputError(f"{name} must be {choices}, got {value!r:.40}")
        self.models, self.width = models, width
        self.unit, self.rows_are = unit, rows_are
        self.spelling = models.kept.get("spelling", lambda: Spelling(models.vocabulary))

    def read(
        self, sentences: Iterable[TextSentence | NBest], threads: int = 1, first: int = 1
    ) -> Iterator[SentenceSurprisal]:
        """Yield each sentence of a text, or each list, in order and numbered from ``first``, while
        the next ones are read by ``threads``. A sentence's measures depend on nothing else."""
        cancellation = Cancellation()
        job = partial(self.read_one, cancellation=cancellation)
        under_way: deque[Future[SentenceSurprisal]] = deque()
        pool = ThreadPoolExecutor(threads, "surprisal")
        try:
            for number, given in enumerate(sentences, first):
                under_way.append(submitted(pool, partial(job, number, given)))
                if len(under_way) >= _WAITING * threads:
                    yield result_of(under_way.popleft())
            while under_way:
                yield result_of(under_way.popleft())
        finally:
            cancellation.cancel()
            pool.shutdown(cancel_futures=True)

    def read_one(
        self, number: int, given: TextSentence | NBest, cancellation: Cancellation
    ) -> SentenceSurprisal:
        """Read a sentence, or a list, with this number. Raises Stopped if cancelled."""
        measures: SentenceMeasures | str | None
        if isinstance(given, NBest):
            source, nbest = _sentence_of(given), given
            measures = read_list(self.models, self.spelling, given, cancellation)
        else:
            source, nbest = given, None
            measures = given.problem or read_sentence(
                self.models, self.spelling, given.sentence.words, self.width, cancellation
            )
        problem = measures if isinstance(measures, str) else None
        read = measures if isinstance(measures, SentenceMeasures) else None
        return SentenceSurprisal(number, source, read, self.unit, self.rows_are, problem, nbest)


Given = TextSentence | NBest


class Surprisal(Job[Given, SentenceSurprisal]):
    """The job of reading sentences, or lists."""

    def __init__(
        self, reader: SurprisalReader, threads: int = 1, settings: Identity | None = None
    ) -> None:
        """Take the settings, besides the models, on which the answers depend."""
        self._reader, self._threads, self._settings = reader, threads, settings or {}
        self._number = 0

    def identity(self) -> Identity:
        """Return the models and the settings."""
        models = [member.sha256 for member in self._reader.models.members]
        return {"models": models, **self._settings}

    def answers(self, sentences: Iterable[Given]) -> Iterator[tuple[Given, SentenceSurprisal]]:
        """Read the sentences, several at once."""
        for each in self._reader.read(sentences, self._threads, self._number + 1):
            yield each.nbest or each.source, each

    def counts(self, sentence: Given, answer: SentenceSurprisal) -> AnswerCounts:
        """Count a sentence as failed if it was not read, or not as it is written."""
        is_fine = answer.measures is not None and answer.source.fault is None
        if answer.nbest is not None:
            is_fine = is_fine and not answer.nbest.rejected
        return AnswerCounts(0 if is_fine else None, 0, 0, 0)

    def finished(self, sentence: Given, counts: AnswerCounts) -> None:
        """Count the sentences, which have numbers."""
        self._number += 1


def named_hindsight(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of lists."""
    return tuple(HINDSIGHT if name == "surprisal" else name for name in columns)


def _sentence_of(nbest: NBest) -> TextSentence:
    """Return a list's sentence as if it were a text of its words with spaces between them."""
    starts = itertools.accumulate((len(word) + 1 for word in nbest.words), initial=0)
    offsets = tuple(
        (start, start + len(word)) for start, word in zip(starts, nbest.words, strict=False)
    )
    file = nbest.candidates[0].file if nbest.candidates else ""
    origin = Origin(file, nbest.line, " ".join(nbest.words), offsets)
    return TextSentence(Sentence(tuple(nbest.words)), nbest.origin or origin)


class Surprisals(ListSink[SentenceSurprisal]):
    """The sentences of a text."""

    def __repr__(self) -> str:
        return f"<Surprisals of {len(self)} sentences>"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each word of all sentences, by ``COLUMNS``."""
        return [row for sentence in self for row in sentence.rows()]

    def to_pandas(self) -> DataFrame:
        """Return the rows as a table. Raises InputError without pandas."""
        return data_frame(self.rows(), COLUMNS)


def surprisal(
    text: TextOrFile,
    *,
    form: TextForm = "text",
    words: Convention | None = None,
    speakers: bool | None = None,
    models: ModelNames | None = None,
    beam: int = 100,
    unit: Unit = "bits",
    rows: Rows = "word",
    longest: int = 300,
    threads: int = 1,
) -> Surprisals:
    """Compute the surprisal of every word of a text under forward language models of trees, which
    are loaded once and kept for the next call; by default the first of the installed ensemble.

    ``text``, ``form``, ``words`` and ``speakers`` are those of ``reranker.parse``; ``beam`` is the
    number of partial trees kept at each word. A sentence of more than ``longest`` words is not
    read: its rows have no numbers.

    >>> reranker.surprisal("The horse raced past the barn fell.").to_pandas()  # doctest: +SKIP

    Raises InputError for backward models, span models, and several with different vocabularies.
    """
    if models is not None and not isinstance(models, str):
        models = tuple(models) if isinstance(models, Iterable) else models
    loaded = _loaded.get(models, lambda: load_forward(models))
    reader = SurprisalReader(loaded, Width(beam), unit, rows)
    words = words or convention_of(language_of_models(models))
    given = checked_text(text)
    warn_about_text(given)
    read = Surprisals()
    source = Source(sentences(given, form, words, longest, speakers=speakers))
    loop.run(source, Surprisal(reader, threads), read)
    return read
