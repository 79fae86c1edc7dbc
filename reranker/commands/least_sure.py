"""``rerank parse --least-sure N``: the sentences to check by hand first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

from reranker.files.records import AnswerCounts
from reranker.files.table import delimited
from reranker.nbest import NBest
from reranker.outputs.form import Form
from reranker.ranking import Ranking
from reranker.trees.linearize import linearize
from reranker.work.loop import Identity, Job
from reranker.work.ranking import Rank

COLUMNS = (
    *("confidence", "place", "bracket", "probability", "words", "sentence", "doubt"),
    "speaker",
)

RankedList = tuple[Ranking, NBest]


class WithLists(Job[NBest, RankedList]):
    """The ranking of lists; an answer is a ranking and its list, which has all candidates."""

    def __init__(self, job: Rank, table: Identity) -> None:
        """Take the flags on which the table depends."""
        self._job, self._table = job, table

    def identity(self) -> Identity:
        return {**self._job.identity(), **self._table}

    def answers(self, sentences: Iterable[NBest]) -> Iterator[tuple[NBest, RankedList]]:
        """Rank the lists."""
        for nbest, ranking in self._job.answers(sentences):
            yield nbest, (ranking, nbest)

    def counts(self, sentence: NBest, answer: RankedList) -> AnswerCounts:
        return self._job.counts(sentence, answer[0])


class LeastSure(Form[RankedList]):
    """A table of the ``count`` least sure sentences; ties go to the first. Sentences of unknown
    confidence come last."""

    is_table = True

    def __init__(self, count: int, *, has_commas: bool = False) -> None:
        self._count, self._has_commas = count, has_commas
        self._rows: list[tuple[float, int, list[str]]] = []  # a heap, the surest first

    def plain(self, answer: RankedList) -> list[Any]:
        """Return the confidence and the row of a sentence."""
        return row(*answer)

    def line(self, answer: list[Any], number: int) -> str:
        """Keep the row, if it is among the least sure; nothing is written before the end."""
        confidence, cells = answer
        heapq.heappush(self._rows, (-(2.0 if confidence is None else confidence), -number, cells))
        if len(self._rows) > self._count:
            heapq.heappop(self._rows)
        return ""

    def end(self) -> str:
        """Return a heading and the rows, least sure first."""
        rows = (cells for *_, cells in sorted(self._rows, reverse=True))
        return delimited([COLUMNS, *rows], with_commas=self._has_commas)


def row(ranking: Ranking, nbest: NBest) -> list[Any]:
    """Return the confidence in a tree and the cells of ``COLUMNS``: the sentence, the least
    sure bracket of its tree and the doubt about that in words; an unknown value is ``-``, a
    speaker outside of transcripts empty. The confidence of a sentence that could not be parsed is
    0.

    Raises TreeError as ``Ranking.parsed_sentence``.
    """
    sentence, doubt = ranking.parsed_sentence(), ranking.doubt_among(nbest.candidates)
    origin = ranking.origin
    place = f"{origin.file}:{origin.line}" if origin else ranking.id
    confidence = 0.0 if ranking.best is None else ranking.confidence
    label, probability, words = "-", "-", "-"
    brackets = []
    if ranking.certainty is not None and sentence.tree is not None:
        brackets = ranking.certainty.of(linearize(sentence.tree))
    if brackets:
        start, end, label, least = min(brackets, key=lambda each: each[3])
        probability = f"{least:.4f}"
        words = sentence.text_of(start, end)
    columns = (
        "-" if confidence is None else f"{confidence:.4f}",
        *(place, label, probability, words, sentence.text),
        doubt.text if doubt else "-",
        origin.speaker or "" if origin else "",
    )
    rounded = None if confidence is None else round(confidence, 4)
    return [rounded, [" ".join(column.split()) for column in columns]]
