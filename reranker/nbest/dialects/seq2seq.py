"""Beams of sequence-to-sequence parsers: linearised trees, one a line, and no ids.

How lines make lists is seen at the head of the file: after a line with nothing but a number, that
many candidates follow (Suzuki et al.); else a blank line ends a list; else every line is a list.
OpenNMT's ``-n_best K`` prints K lines a sentence and does not say so: then ``beam`` has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import linearized
from reranker.nbest.dialects.counted import HEADER
from reranker.nbest.dialects.dialect import Dialect, Head
from reranker.nbest.lines import NumberedLines
from reranker.nbest.notation import Notation

_COUNT = re.compile(r"[0-9]{1,9}")
_COUNTED = "a count before each list"
_SEPARATED = "a blank line after each list"


def _recognise(head: Head) -> bool:
    is_counted = HEADER.fullmatch(head.first) is not None
    return head.trees_are_linearized if is_counted else head.is_linearized


def layout(head: Sequence[str], beam: int | None) -> str:
    """How lines make lists, in words."""
    if any(_COUNT.fullmatch(line.strip()) for line in head):
        return _COUNTED
    if beam is not None:
        return f"{beam} lines a list"
    inner = [line.strip() for line in head]
    while inner and not inner[-1]:
        inner.pop()
    return _SEPARATED if "" in inner else "one line a list"


def read_seq2seq(file: NumberedLines) -> Iterator[RawList]:
    """The lists of a file; with ``file.beam``, of that many lines each, blank ones counted."""
    kind = layout(file.head, file.beam)
    if kind == _COUNTED:
        lists = _counted(file)
    elif kind == _SEPARATED:
        lists = _separated(file)
    else:
        lists = _of_length(file, file.beam or 1)
    position = 0
    for position, (start, candidates) in enumerate(lists, 1):
        yield RawList(str(position - 1), start, candidates)
    yield from file.rest(position)


_Group = tuple[int, list[RawCandidate]]


def _counted(file: NumberedLines) -> Iterator[_Group]:
    candidates: list[RawCandidate] = []
    start = 0
    promised: int | None = None

    def finish() -> _Group:
        if promised is not None and len(candidates) < promised:
            candidates.append(_cut_short(candidates, promised, start))
        return start, candidates

    for number, line in file:
        text = line.strip()
        if _COUNT.fullmatch(text):
            if promised is not None or candidates:
                yield finish()
            candidates, start, promised = [], number, int(text)
        elif text:
            is_surplus = promised is not None and len(candidates) >= promised
            problem = ("surplus", f"the count promises {promised} candidates only")
            candidates.append(RawCandidate(number, text, problem=problem if is_surplus else None))
    if promised is not None or candidates:
        yield finish()


def _separated(file: NumberedLines) -> Iterator[_Group]:
    candidates: list[RawCandidate] = []
    for number, line in file:
        if text := line.strip():
            candidates.append(RawCandidate(number, text))
        else:
            yield (candidates[0].line if candidates else number), candidates
            candidates = []
    if candidates:
        yield candidates[0].line, candidates


def _of_length(file: NumberedLines, beam: int) -> Iterator[_Group]:
    candidates: list[RawCandidate] = []
    for number, line in file:
        candidates.append(RawCandidate(number, line.strip()))
        if len(candidates) == beam:
            start = candidates[0].line
            while candidates and not candidates[-1].text:  # a short list, filled up
                candidates.pop()
            yield start, candidates
            candidates = []
    if candidates:
        candidates.append(_cut_short(candidates, beam, candidates[0].line))
        yield candidates[0].line, candidates


def _cut_short(candidates: Sequence[RawCandidate], promised: int, start: int) -> RawCandidate:
    message = f"the list is cut short: {len(candidates)} of {promised} candidates are there"
    line = candidates[-1].line if candidates else start
    return RawCandidate(line, "", problem=("truncated", message))


def _write(nbest: NBest, position: int) -> str:
    lines = [str(len(nbest.candidates)), *map(linearized, nbest.candidates)]
    return "\n".join([*lines, ""])


SEQ2SEQ = Dialect(
    name="seq2seq",
    description="linearised trees, one a line, in lists after a count or before a blank line",
    recognise=_recognise,
    read=read_seq2seq,
    write=_write,
    notation=Notation.LINEARIZED,
    layout=layout,
    looks_for_blank_line=True,
)
