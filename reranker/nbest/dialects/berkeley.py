"""Berkeley's lists: ``score tree`` lines and a blank line after each list.

Scores are natural logarithms. There can be several, with tabs between: the sentence's, then the
tree's. Two numbers with a space between are what BLLIP's Python ``ScoredParse`` prints: the
parser's score in base 2, then the reranker's. The parser can also leave the scores out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from reranker.nbest.data import Candidate, NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import bracketed, score_text
from reranker.nbest.dialects.dialect import Dialect, Head
from reranker.nbest.lines import NumberedLines

_NUMBER = (
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?|\.[0-9]++|[iI]nf(?:inity)?|[nN]a[nN])"
)
_SCORED = re.compile(rf"\s*+({_NUMBER}(?:\s++{_NUMBER})*)\s++(?=\()", re.ASCII)
_LAST_WORD = re.compile(r"([^()\s]++)\s*+\)")  # of a constituent


def _recognise(head: Head) -> bool:
    if _SCORED.match(head.first):
        return True
    return head.first[:1] == "(" and not head.is_linearized and _are_lists(head)


def _are_lists(head: Head) -> bool:
    """Whether there are blank lines and, between them, different trees of the same words."""
    trees = [(line.strip(), _LAST_WORD.findall(line)) for line in head.all]
    pairs = [
        (text != next_text, words == next_words)
        for (text, words), (next_text, next_words) in itertools.pairwise(trees)
        if words and next_words
    ]
    return ("", []) in trees and 2 * pairs.count((True, True)) > len(pairs)


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Without a blank line at the head of the file, every line is a list."""
    has_lists = any(not line.strip() for line in file.head)
    position = 0
    candidates: list[RawCandidate] = []
    start = 1
    for number, line in file:
        text = line.strip()
        if text:
            if not candidates:
                start = number
            candidates.append(_candidate(number, text))
        if not text or not has_lists:
            yield RawList(str(position), start if candidates else number, candidates)
            position += 1
            candidates = []
    if candidates:
        yield RawList(str(position), start, candidates)
        position += 1
    yield from file.rest(position)


def _candidate(number: int, text: str) -> RawCandidate:
    match = _SCORED.match(text)
    if match is None:
        return RawCandidate(number, text)
    columns = match[1].split()
    is_from_python = len(columns) > 1 and "\t" not in match[1]
    score = float(columns[0]) * math.log(2) if is_from_python else float(columns[-1])
    return RawCandidate(number, text[match.end() :], score if math.isfinite(score) else None)


def _write(nbest: NBest, position: int) -> str:
    return "".join(map(_line, nbest.candidates)) + "\n"


def _line(candidate: Candidate) -> str:
    return f"{score_text(candidate)}\t{bracketed(candidate)}\n"


BERKELEY = Dialect(
    name="berkeley",
    description="score and tree on a line, a blank line after each list",
    recognise=_recognise,
    read=_read,
    write=_write,
    looks_for_blank_line=True,
)
