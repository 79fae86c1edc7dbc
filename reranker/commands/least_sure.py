"""``rerank parse --least-sure N``: the sentences to check by hand first."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterator
from pathlib import Path

from reranker.files.journal import AnswerOutput
from reranker.files.output import open_whole
from reranker.files.records import Written
from reranker.nbest import NBest
from reranker.ranking import Ranking
from reranker.trees.linearize import linearize

HEADING = "confidence\tplace\tbracket\tprobability\twords\tsentence\tdoubt"


class LeastSure(AnswerOutput):
    """Keeps the ``count`` least sure of the rows written to it; ties go to the first. Rows of
    unknown confidence come last."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: list[tuple[float, int, str]] = []  # a heap, the surest first
        self._number = 0

    def write(self, answer: str, written: Written, digest: str) -> None:
        first, _, _ = answer.partition("\t")
        confidence = 2.0 if first == "-" else float(first)
        self._number += 1
        heapq.heappush(self._rows, (-confidence, -self._number, answer))
        if len(self._rows) > self._count:
            heapq.heappop(self._rows)

    def text(self) -> str:
        """Return a heading and the rows, least sure first."""
        rows = [row for *_, row in sorted(self._rows, reverse=True)]
        return "".join(f"{row}\n" for row in (HEADING, *rows))


@contextlib.contextmanager
def least_sure(path: Path | None, count: int) -> Iterator[AnswerOutput]:
    """Open standard output for None, else the file, which is written at the end, whole or not at
    all."""
    rows = LeastSure(count)
    yield rows
    with open_whole(path) as file:
        file.write(rows.text())


def row(ranking: Ranking, nbest: NBest) -> str:
    """Return a sentence, the least sure bracket of its tree and the doubt about that in words, as
    the columns of ``HEADING``; an unknown value is ``-``. The confidence of a sentence that could
    not be parsed is 0.

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
    )
    return "\t".join(" ".join(column.split()) for column in columns)
