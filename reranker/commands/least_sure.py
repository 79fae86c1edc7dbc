"""``rerank parse --least-sure N``: the sentences to check by hand first."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterator
from pathlib import Path

from reranker.files.journal import AnswerOutput
from reranker.files.output import open_whole
from reranker.files.records import Written
from reranker.outputs.certainty import HEADING


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
        """A heading and the rows, least sure first."""
        rows = [row for *_, row in sorted(self._rows, reverse=True)]
        return "".join(f"{row}\n" for row in (HEADING, *rows))


@contextlib.contextmanager
def least_sure(path: Path | None, count: int) -> Iterator[AnswerOutput]:
    """Standard output for None, else the file, which is written at the end, whole or not at all."""
    rows = LeastSure(count)
    yield rows
    with open_whole(path) as file:
        file.write(rows.text())
