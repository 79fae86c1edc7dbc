"""Files whose every line names its sentence: RNNG's ``|||`` and fairseq's ``H-12``.

RNNG (``id ||| log-probability ||| tree``, natural log) prints samples in any order and repeats
them; rnng-bert pads its beams by repeating the last tree. fairseq prints, batch by batch,
``S-id`` the source, ``H-id`` a score and a hypothesis, ``P-id`` its tokens' base-2
log-probabilities. The score of ``H`` is divided by a power of the length that the file does not
tell, so the sum of ``P`` is taken, or none.

Sentences are numbered from 0; a number that never comes is a sentence without candidates. Since
the lines of a sentence may stand anywhere, a first pass notes where each line is: 24 bytes a line
in memory, the text itself in a temporary file.
"""

from __future__ import annotations

import math
import re
import tempfile
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from reranker.errors import InputError
from reranker.nbest.data import RawCandidate, RawList, Sentence
from reranker.nbest.lines import NumberedLines
from reranker.nbest.words import escaped, split_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_GAP = 10_000

RNNG_LINE = re.compile(r"\s*([0-9]{1,12})\s*\|\|\|(.*)", re.DOTALL)
FAIRSEQ_LINE = re.compile(r"([STHDP])-([0-9]{1,12})(?:\t(.*))?", re.DOTALL)
_UNKNOWN_SOURCE_WORD = "<unk>"
_BARS = re.compile(r"\s*\|\|\|\s*")
_NO_ID = ("no-id", "the line does not begin with a sentence's number")


class _Line(NamedTuple):
    number: int
    text: str
    problem: tuple[str, str] | None = None


def read_rnng(file: NumberedLines) -> Iterator[RawList]:
    """A list for every number from 0 to the greatest."""

    def number_of(line: str) -> int | None:
        match = RNNG_LINE.match(line)
        return int(match[1]) if match else None

    for position, lines in _by_sentence(file, number_of):
        found = [_rnng_candidate(line) for line in lines]
        yield RawList(str(position), lines[0].number if lines else 0, found)


def _rnng_candidate(line: _Line) -> RawCandidate:
    match = RNNG_LINE.match(line.text)
    if match is None:
        return RawCandidate(line.number, line.text.strip(), problem=line.problem or _NO_ID)
    columns = _BARS.split(match[2].strip(), maxsplit=1)
    if len(columns) < 2:
        return RawCandidate(line.number, columns[0], None)
    return RawCandidate(line.number, columns[1], _finite(columns[0]))


def read_fairseq(file: NumberedLines) -> Iterator[RawList]:
    """A list for every number from 0 to the greatest; ``S`` lines tell the words."""

    def number_of(line: str) -> int | None:
        match = FAIRSEQ_LINE.match(line)
        return int(match[2]) if match else _NOT_A_LINE

    for position, lines in _by_sentence(file, number_of):
        yield _fairseq_list(position, lines)


def _fairseq_list(position: int, lines: list[_Line]) -> RawList:
    found: list[RawCandidate] = []
    detokenized: list[RawCandidate] = []
    sentence = None
    for line in lines:
        match = FAIRSEQ_LINE.match(line.text)
        if match is None:
            found.append(RawCandidate(line.number, line.text, problem=line.problem))
            continue
        kind, rest = match[1], match[3] or ""
        if kind == "S":
            words = tuple(escaped(word) for word in split_words(rest))
            # An XX in the source is a word, as in sentences on chromosomes.
            if words and _UNKNOWN_SOURCE_WORD not in words:
                sentence = Sentence(words)
        elif kind in "HD":
            score, _, text = rest.partition("\t")
            has_score = _finite(score) is not None or score.strip() in ("-inf", "inf", "nan")
            (found if kind == "H" else detokenized).append(
                RawCandidate(line.number, (text if has_score else rest).strip())
            )
        elif kind == "P" and (found or detokenized):
            values = [_finite(value) for value in rest.split()]
            usable = [value for value in values if value is not None]
            if usable and len(usable) == len(values):
                joint = sum(usable) * math.log(2)
                latest = found or detokenized
                latest[-1] = latest[-1]._replace(parser_score=joint)
    return RawList(str(position), lines[0].number if lines else 0, found or detokenized, sentence)


_NOT_A_LINE = -1  # fairseq mixes its log with its output


def _by_sentence(
    file: NumberedLines, number_of: Callable[[str], int | None]
) -> Iterator[tuple[int, list[_Line]]]:
    """Every sentence with its lines in the file's order; a line without a number goes with the one
    before it."""
    import numpy as np  # slow to import, and `rerank --help` answers at once

    ids, line_numbers, lengths = array("q"), array("q"), array("q")
    with tempfile.TemporaryFile(prefix="rerank-") as spool:
        latest = number = 0
        for number, line in file:
            if not line.strip():
                continue
            given = number_of(line)
            if given == _NOT_A_LINE:
                continue
            latest = latest if given is None else given
            data = line.encode("utf-8", "surrogateescape")
            spool.write(data)
            ids.append(latest)
            line_numbers.append(number)
            lengths.append(len(data))
        if not ids:
            return
        sentences = np.frombuffer(ids, dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum(np.frombuffer(lengths, dtype=np.int64))[:-1]))
        order = np.argsort(sentences, kind="stable")
        _check_gaps(file.name, sentences[order], line_numbers, order)
        position = 0
        lines: list[_Line] = []
        for which in order:
            while position < ids[which]:
                yield position, lines
                position, lines = position + 1, []
            spool.seek(int(starts[which]))
            text = spool.read(lengths[which]).decode("utf-8", "surrogateescape")
            lines.append(_Line(line_numbers[which], text))
        if file.damage:
            problem = ("truncated", f"the file is cut short: {file.damage}")
            lines.append(_Line(number, "", problem))
        yield position, lines


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


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
