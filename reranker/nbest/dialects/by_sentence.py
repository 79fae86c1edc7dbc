"""Files whose every line names its sentence: RNNG's ``|||`` and fairseq's ``H-12``.

Sentences are numbered from 0; a missing number is a sentence without candidates. Since the lines of
a sentence may be anywhere, a first pass records where each line is: 24 bytes per line in memory,
the text itself in a temporary file.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from array import array
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from reranker.errors import InputError
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.lines import NumberedLines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_GAP = 10_000


def lists_by_sentence(
    file: NumberedLines, pattern: re.Pattern[str], *, keep_others: bool
) -> Iterator[RawList]:
    """Yield every sentence with its lines in the file's order, each as the text of a candidate.

    Lines begin with ``pattern``, whose group ``sentence`` is the number. Other lines belong to the
    sentence before them or, without ``keep_others``, to none. Raises InputError if more than
    ``MAX_GAP`` sentences in a row are missing, or if the temporary file cannot be written.
    """
    import numpy as np  # slow to import, and `rerank --help` answers at once

    with _spool() as spool:
        index = _Index()
        for number, line in file:
            match = pattern.match(line)
            if match or (keep_others and line.strip()):
                sentence = int(match["sentence"]) if match else None
                index.add(sentence, number, spool.write(line.encode("utf-8", "surrogateescape")))
        if not index.sentences:
            return
        sentences = np.frombuffer(index.sentences, dtype=np.int64)
        order = np.argsort(sentences, kind="stable")
        _check_gaps(file.name, index, order, np.diff(sentences[order], prepend=-1))
        position = 0
        lines: list[RawCandidate] = []
        for done, place in enumerate(order):
            file.share_done = done / len(order)
            while position < index.sentences[place]:
                yield _list(position, lines)
                position, lines = position + 1, []
            spool.seek(index.starts[place])
            text = spool.read(index.starts[place + 1] - index.starts[place])
            number = index.numbers[place]
            lines.append(RawCandidate(number, text.decode("utf-8", "surrogateescape")))
        file.share_done = 1.0
        lines.extend(file.damage_report())
        yield _list(position, lines)


@contextlib.contextmanager
def _spool() -> Iterator[IO[bytes]]:
    """Open a temporary file. Raises InputError if it cannot be created or written."""
    try:
        with tempfile.TemporaryFile(prefix="rerank-") as spool:
            yield spool
    except OSError as error:
        folder = f" in {tempfile.tempdir}" if tempfile.tempdir else ""
        raise InputError(f"cannot write a temporary file{folder}: {error.strerror}") from error


def _list(position: int, lines: list[RawCandidate]) -> RawList:
    return RawList(str(position), lines[0].line if lines else 0, lines)


class _Index:
    """The sentence, the number in the file, and the start in the spool of each line."""

    def __init__(self) -> None:
        self.sentences = array("q")
        self.numbers = array("q")
        self.starts = array("q", [0])
        """The start of each line, and last the end of the spool."""

    def add(self, sentence: int | None, number: int, size: int) -> None:
        """Add a line of ``size`` bytes; without ``sentence``, the line belongs to the previous
        line's sentence."""
        if sentence is None:
            sentence = self.sentences[-1] if self.sentences else 0
        self.sentences.append(sentence)
        self.numbers.append(number)
        self.starts.append(self.starts[-1] + size)


def _check_gaps(
    name: str, index: _Index, order: NDArray[np.int64], gaps: NDArray[np.int64]
) -> None:
    """Raise InputError for a number too far from the others for a parser to have written it."""
    widest = int(gaps.argmax())
    if gaps[widest] > MAX_GAP:
        place = int(order[widest])
        sentence, missing = index.sentences[place], gaps[widest] - 1
        raise InputError(
            f"{name}:{index.numbers[place]}: sentence {sentence}: the {missing} before it are "
            "missing"
        )
