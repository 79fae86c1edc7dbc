"""Files without counts or ids: one tree a sentence, or Berkeley's ``score tree`` lines.

A tree by itself is a list of one candidate; files of several parsers can be pooled. It may be
pretty-printed over several lines. A blank line, unless it follows a tree of several lines, is a
sentence without a tree.

Berkeley's parser prints natural-log probabilities and ends each list with a blank line. Two
numbers before a tree are what BLLIP's Python ``ScoredParse`` prints: the parser's score in base 2,
then the reranker's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.source import NumberedLines
from reranker.textfiles import MAX_LINE
from reranker.trees import open_brackets, starts_new_tree

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+|[iI]nf(?:inity)?|[nN]a[nN])"
SCORED = re.compile(rf"\s*({_NUMBER})\s+(?:({_NUMBER})\s+)?(?=\()", re.ASCII)


def read_trees(file: NumberedLines) -> Iterator[RawList]:
    """One list for every tree or blank line."""
    position = 0
    pending: list[str] = []
    size = depth = start = 0
    is_after_pretty = False

    def finish() -> RawList:
        nonlocal position
        position += 1
        text = " ".join(pending)
        pending.clear()
        return RawList(str(position - 1), start, [RawCandidate(start, text)])

    for number, line in file:
        text = line.strip()
        if pending and (not text or starts_new_tree(line, pending[0])):
            yield finish()
            is_after_pretty = True
        if not text:
            if not is_after_pretty:
                yield RawList(str(position), number, [])
                position += 1
            is_after_pretty = False
            continue
        if not pending:
            start, size, depth = number, 0, 0
        depth += open_brackets(text)
        if size <= MAX_LINE:  # beyond the limit, text is only counted
            pending.append(text)
            size += len(text) + 1
        if depth <= 0:
            is_after_pretty = number > start
            yield finish()
    if pending:
        yield finish()
    if file.damage:
        yield _damaged(position, number, file.damage)


def read_scored_trees(file: NumberedLines) -> Iterator[RawList]:
    """Berkeley's lists; without a blank line at the head of the file, every line is a list."""
    has_lists = any(not line.strip() for line in file.head)
    position = number = 0
    found: list[RawCandidate] = []
    start = 1
    for number, line in file:
        text = line.strip()
        if text:
            if not found:
                start = number
            found.append(_scored(number, text))
        if not text or not has_lists:
            yield RawList(str(position), start if found else number, found)
            position += 1
            found = []
    if found:
        yield RawList(str(position), start, found)
        position += 1
    if file.damage:
        yield _damaged(position, number, file.damage)


def _scored(number: int, text: str) -> RawCandidate:
    match = SCORED.match(text)
    if match is None:
        return RawCandidate(number, text)
    score = float(match[1]) * (math.log(2) if match[2] else 1.0)
    return RawCandidate(number, text[match.end() :], score if math.isfinite(score) else None)


def _damaged(position: int, number: int, damage: str) -> RawList:
    problem = ("truncated", f"the file is cut short: {damage}")
    return RawList(str(position), number, [RawCandidate(number, "", problem=problem)])
