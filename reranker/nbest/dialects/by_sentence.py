"""Files whose every line names its sentence: RNNG's ``|||`` and fairseq's ``H-12``.

Sentences are numbered from 0; a number that never comes is a sentence without candidates. Since
the lines of a sentence may stand anywhere, a first pass notes where each line is: 24 bytes a line
in memory, the text itself in a temporary file.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

from reranker.errors import InputError
from reranker.nbest.data import RawCandidate
from reranker.nbest.lines import NumberedLines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_GAP = 10_000
NOT_A_LINE = -1  # fairseq mixes its log with its output


def lists_by_sentence(
    file: NumberedLines, number_of: Callable[[str], int | None]
) -> Iterator[tuple[int, list[RawCandidate]]]:
    """Every sentence with its lines in the file's order.

    ``number_of`` gives a line's sentence, or None if it belongs to the one before it, or
    ``NOT_A_LINE``. Raises InputError if more than ``MAX_GAP`` sentences in a row are missing.
    """
    import numpy as np  # slow to import, and `rerank --help` answers at once

    with tempfile.TemporaryFile(prefix="rerank-") as spool:
        index = _Index(file, number_of, spool)
        if not index.sentences:
            return
        sentences = np.frombuffer(index.sentences, dtype=np.int64)
        order = np.argsort(sentences, kind="stable")
        gaps = np.diff(sentences[order], prepend=-1)
        _check_gaps(file.name, index, order, gaps)
        position = 0
        lines: list[RawCandidate] = []
        for place in order:
            while position < index.sentences[place]:
                yield position, lines
                position, lines = position + 1, []
            spool.seek(index.starts[place])
            text = spool.read(index.starts[place + 1] - index.starts[place])
            number = index.numbers[place]
            lines.append(RawCandidate(number, text.decode("utf-8", "surrogateescape")))
        lines.extend(file.damage_report())
        yield position, lines


class _Index:
    """For each line its sentence, its number in the file and its start in the spool."""

    def __init__(
        self, file: NumberedLines, number_of: Callable[[str], int | None], spool: IO[bytes]
    ) -> None:
        """Copies the lines to the spool."""
        self.sentences = array("q")
        self.numbers = array("q")
        self.starts = array("q", [0])
        """One more than lines: the last is the end of the spool."""
        latest = 0
        for number, line in file:
            sentence = number_of(line) if line.strip() else NOT_A_LINE
            if sentence == NOT_A_LINE:
                continue
            latest = latest if sentence is None else sentence
            self.sentences.append(latest)
            self.numbers.append(number)
            data = line.encode("utf-8", "surrogateescape")
            self.starts.append(self.starts[-1] + spool.write(data))


def _check_gaps(
    name: str, index: _Index, order: NDArray[np.int64], gaps: NDArray[np.int64]
) -> None:
    """Raise InputError for a number so far from the others that no parser can have written it."""
    widest = int(gaps.argmax())
    if gaps[widest] > MAX_GAP:
        place = int(order[widest])
        sentence, missing = index.sentences[place], gaps[widest] - 1
        raise InputError(
            f"{name}:{index.numbers[place]}: sentence {sentence}: the {missing} before it are "
            "missing"
        )
