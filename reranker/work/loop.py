"""The only loop over sentences: resume, do the job, write, count."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Protocol, TypeVar

from reranker.files.encoding import told
from reranker.files.records import AnswerCounts

logger = logging.getLogger(__name__)

Counts = Counter[str]
"""The sums of ``AnswerCounts.totals`` over all sentences."""
Identity = dict[str, Any]
"""Everything on which answers depend, as plain data: a run resumes only a run with the same
identity."""


class Resumable(Protocol):
    """A sentence that is recognised when it is read again."""

    def digest(self) -> str:
        """Return a digest of the sentence's input."""


S = TypeVar("S", bound=Resumable)
S_co = TypeVar("S_co", bound=Resumable, covariant=True)
A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
T = TypeVar("T")


class Source(Generic[S_co]):
    """Sentences in order: here those of an iterable; subclasses read files or texts."""

    def __init__(self, sentences: Iterable[S_co]) -> None:
        self._sentences = iter(sentences)

    @property
    def size(self) -> int | None:
        """Return the bytes of all files, compressed ones as they are; None if that is unknown."""
        return None

    @property
    def position(self) -> int:
        """Return about how many of these bytes have been read so far."""
        return 0

    def __iter__(self) -> Iterator[S_co]:
        return self._sentences

    def skip(self) -> S_co | None:
        """Read the next sentence, doing as little as necessary; None if there is none left."""
        return next(self._sentences, None)

    def identity(self) -> Identity:
        """Return everything on which the sentences depend."""
        return {}

    def end(self, counts: Counts) -> None:
        """Raise InputError if all sentences together are unusable."""

    def close(self) -> None:
        """Close the files, and end everything that runs for the source."""


class Job(Generic[S, A]):
    """The work that is done for each sentence. A feature defines ``answer``, or ``answers`` if
    sentences are worked on together."""

    def identity(self) -> Identity:
        """Return everything on which the answers depend, apart from the sentences."""
        return {}

    def answer(self, sentence: S) -> A:
        """Return the answer to one sentence."""
        raise AssertionError(f"{type(self).__name__} has neither answer nor answers")

    def answers(self, sentences: Iterable[S]) -> Iterator[tuple[S, A]]:
        """Yield each sentence with its answer, in order if the run can be resumed."""
        return ((sentence, self.answer(sentence)) for sentence in sentences)

    def counts(self, sentence: S, answer: A) -> AnswerCounts:
        """Return the counts of an answer."""
        return AnswerCounts(0, 0, 0, 0)

    def finished(self, sentence: S, counts: AnswerCounts) -> None:
        """Note that a sentence is answered, by this run or by the one that is resumed."""

    def end(self, counts: Counts) -> None:
        """Raise InputError if all sentences together are unusable."""


class Sink(Protocol[A_contra]):
    """The place of the answers."""

    is_terminal: bool
    """True if answers go to standard output: on a terminal, the progress bar has to make room."""

    def opened(self, identity: Callable[[], Identity]) -> AbstractContextManager[None]:
        """Return a context in which answers are written. Leaving it completes the output; an error
        keeps the written answers and reports their number."""

    def already_written(self, sentences: Iterable[S]) -> Iterator[tuple[S, AnswerCounts]]:
        """Yield each sentence that the interrupted run has written, with its counts. Raises
        InputError if the sentences are not those that the run has read."""

    def write(self, answer: A_contra, counts: AnswerCounts, digest: str) -> None:
        """Write the next answer; ``digest`` is its sentence's."""


class Progress:
    """Progress that nobody sees; commands show theirs (reranker.commands.progress)."""

    def read(self, sentences: Iterable[T]) -> Iterator[T]:
        """Yield the sentences, noting how far the source has been read."""
        return iter(sentences)

    def skipping(self) -> AbstractContextManager[None]:
        """Return a context in which written sentences are skipped."""
        return nullcontext()

    def start(self) -> None:
        """Begin: no sentence is skipped from now on."""

    def answered(self, answer: Any, number: int) -> None:
        """Note the answer to a sentence, counted from 1, before it is written."""

    def finish_sentence(self) -> None:
        """Count the next sentence as finished."""

    def finish(self) -> None:
        """Note that all sentences are finished."""

    def hidden(self) -> AbstractContextManager[None]:
        """Return a context in which the terminal is left to the answers."""
        return nullcontext()

    def close(self) -> None:
        """End, whether all sentences are finished or not."""


def run(
    source: Source[S], job: Job[S, A], sink: Sink[A], progress: Progress | None = None
) -> Counts:
    """Do the job for every sentence of the source, write the answers, and return their counts. A
    sink that resumes an interrupted run gets only the answers that this run has not written.

    Raises RerankError.
    """
    shown = progress or Progress()
    counts = Counts()

    def finish(sentence: S, facts: AnswerCounts) -> None:
        counts.update(facts.totals())
        job.finished(sentence, facts)

    def identity() -> Identity:
        reading: Identity = {} if told() is None else {"encoding": told()}
        return {"job": type(job).__name__, **job.identity(), **source.identity(), **reading}

    with sink.opened(identity):
        try:
            with shown.skipping():
                for sentence, facts in sink.already_written(shown.read(iter(source.skip, None))):
                    finish(sentence, facts)
                    shown.finish_sentence()
            if counts:
                logger.info("resuming after sentence %d", counts["sentences"])
            shown.start()
            for sentence, answer in job.answers(shown.read(source)):
                shown.answered(answer, counts["sentences"] + 1)
                facts = job.counts(sentence, answer)
                finish(sentence, facts)
                with shown.hidden() if sink.is_terminal else nullcontext():
                    sink.write(answer, facts, sentence.digest())
                shown.finish_sentence()
            source.end(counts)
            job.end(counts)
            shown.finish()
        finally:
            shown.close()
    return counts
