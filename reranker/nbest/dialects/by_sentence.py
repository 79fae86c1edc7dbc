"""Files whose every line names its sentence: RNNG's ``|||`` and fairseq's ``H-12``.

Sentences are numbered from 0; a number that never comes is a sentence without candidates. Since
the lines of a sentence may stand anywhere, a first pass notes where each line is: 24 bytes a line
in memory, the text itself in a temporary file.
"""

from __future__ import annotations

import math
import tempfile
from array import array
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, NamedTuple

from reranker.errors import InputError
from reranker.nbest.lines import NumberedLines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_GAP = 10_000
NOT_A_LINE = -1  # fairseq mixes its log with its output


class Line(NamedTuple):
    number: int
    text: str
    problem: tuple[str, str] | None = None


def lists_by_sentence(
    file: NumberedLines, number_of: Callable[[str], int | None]
) -> Iterator[tuple[int, list[Line]]]:
    """Every sentence with its lines in the file's order.

    ``number_of`` gives a line's sentence, or None if it belongs to the one before it, or
    ``NOT_A_LINE``. Raises InputError if more than ``MAX_GAP`` sentences in a row are missing.
    """
    import numpy as np  # slow to import, and `rerank --help` answers at once

    with tempfile.TemporaryFile(prefix="rerank-") as spool:
        index = _Index()
        last_number = index.fill(file, number_of, spool)
        if not index.sentences:
            return
        sentences = np.frombuffer(index.sentences, dtype=np.int64)
        order = np.argsort(sentences, kind="stable")
        _check_gaps(file.name, sentences[order], index.numbers, order)
        position = 0
        lines: list[Line] = []
        for place in order:
            while position < index.sentences[place]:
                yield position, lines
                position, lines = position + 1, []
            spool.seek(index.starts[place])
            text = spool.read(index.starts[place + 1] - index.starts[place])
            lines.append(Line(index.numbers[place], text.decode("utf-8", "surrogateescape")))
        if file.damage:
            problem = ("truncated", f"the file is cut short: {file.damage}")
            lines.append(Line(last_number, "", problem))
        yield position, lines


class _Index:
    """For each line its sentence, its number in the file and its start in the spool."""

    def __init__(self) -> None:
        self.sentences = array("q")
        self.numbers = array("q")
        self.starts = array("q", [0])
        """One more than lines: the last is the end of the spool."""

    def fill(
        self, file: NumberedLines, number_of: Callable[[str], int | None], spool: IO[bytes]
    ) -> int:
        """Copy the lines to the spool; returns the number of the file's last line."""
        latest = number = 0
        for number, line in file:
            sentence = number_of(line) if line.strip() else NOT_A_LINE
            if sentence == NOT_A_LINE:
                continue
            latest = latest if sentence is None else sentence
            self.sentences.append(latest)
            self.numbers.append(number)
            data = line.encode("utf-8", "surrogateescape")
            self.starts.append(self.starts[-1] + spool.write(data))
        return number


def _check_gaps(
    name: str,
    sentences: NDArray[np.int64],
    line_numbers: array[int],
    order: NDArray[np.int64],
) -> None:
    """Raise InputError for a number so far from the others that no parser can have written it."""
    gaps = sentences.copy()
    gaps[1:] -= sentences[:-1]
    gaps[0] += 1
    widest = int(gaps.argmax())
    if gaps[widest] > MAX_GAP:
        line = line_numbers[int(order[widest])]
        raise InputError(
            f"{name}:{line}: sentence {sentences[widest]}: the {gaps[widest] - 1} before it are "
            "missing"
        )


def finite(text: str) -> float | None:
    """The number that the text is, unless it is none, infinite or not a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
