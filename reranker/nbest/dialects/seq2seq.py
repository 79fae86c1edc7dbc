"""Beams of sequence-to-sequence parsers: linearised trees, one a line, and no ids.

How lines make lists is seen at the head of the file: after a line with nothing but a number, that
many candidates follow (Suzuki et al.); else a blank line ends a list; else every line is a list.
OpenNMT's ``-n_best K`` prints K lines a sentence and says nothing: then ``beam`` has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.lines import NumberedLines

_COUNT = re.compile(r"[0-9]{1,9}")


def layout(head: list[str], beam: int | None) -> str:
    """How lines make lists, in words."""
    if any(_COUNT.fullmatch(line.strip()) for line in head):
        return "a count before each list"
    if beam is not None:
        return f"{beam} lines a list"
    inner = [line.strip() for line in head]
    while inner and not inner[-1]:
        inner.pop()
    if "" in inner:
        return "a blank line after each list"
    return "one line a list"


def read_seq2seq(file: NumberedLines, beam: int | None = None) -> Iterator[RawList]:
    """The lists of a file; with ``beam``, of that many lines each, blank ones counted."""
    kind = layout(file.head, beam)
    if kind == "a count before each list":
        lists = _counted(file)
    elif kind == "a blank line after each list":
        lists = _separated(file)
    else:
        lists = _of_length(file, beam or 1)
    position = number = 0
    for position, (start, lines) in enumerate(lists, 1):
        candidates = []
        for number, text, problem in lines:
            candidates.append(RawCandidate(number, text, problem=problem))
        yield RawList(str(position - 1), start, candidates)
    if file.damage:
        problem = ("truncated", f"the file is cut short: {file.damage}")
        yield RawList(str(position), number, [RawCandidate(number, "", problem=problem)])


_Line = tuple[int, str, tuple[str, str] | None]
_Group = tuple[int, list[_Line]]


def _counted(file: NumberedLines) -> Iterator[_Group]:
    found: list[_Line] = []
    start = 0
    promised: int | None = None

    def finish() -> _Group:
        if promised is not None and len(found) < promised:
            message = f"the list is cut short: {len(found)} of {promised} candidates are there"
            last = found[-1][0] if found else start
            found.append((last, "", ("truncated", message)))
        return start, found

    for number, line in file:
        text = line.strip()
        if _COUNT.fullmatch(text):
            if promised is not None or found:
                yield finish()
            found, start, promised = [], number, int(text)
        elif text:
            is_surplus = promised is not None and len(found) >= promised
            message = f"the count promises {promised} candidates only"
            found.append((number, text, ("surplus", message) if is_surplus else None))
    if promised is not None or found:
        yield finish()


def _separated(file: NumberedLines) -> Iterator[_Group]:
    found: list[_Line] = []
    number = 0
    for number, line in file:
        text = line.strip()
        if text:
            found.append((number, text, None))
        else:
            yield (found[0][0] if found else number), found
            found = []
    if found:
        yield found[0][0], found


def _of_length(file: NumberedLines, beam: int) -> Iterator[_Group]:
    found: list[_Line] = []
    for number, line in file:
        found.append((number, line.strip(), None))
        if len(found) == beam:
            start = found[0][0]
            while found and not found[-1][1]:  # a short list, filled up
                found.pop()
            yield start, found
            found = []
    if found:
        message = f"the list is cut short: {len(found)} of {beam} candidates are there"
        found.append((found[-1][0], "", ("truncated", message)))
        yield found[0][0], found
