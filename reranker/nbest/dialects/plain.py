"""Files without counts or ids: one tree a sentence, or Berkeley's ``score tree`` lines.

A tree by itself is a list of one candidate; files of several parsers can be pooled. It may be
pretty-printed over several lines. A blank line is a sentence without a tree, unless it follows a
tree of several lines or every tree: BLLIP's parser prints one after its only tree.

Berkeley's parser prints natural-log probabilities and ends each list with a blank line. It can
print several, with tabs between: the sentence's, then the tree's. Two numbers with a space between
are what BLLIP's Python ``ScoredParse`` prints: the parser's score in base 2, then the reranker's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from reranker.files.text import MAX_LINE
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.lines import NumberedLines
from reranker.trees.splitting import open_brackets, starts_new_tree

_NUMBER = (
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?|\.[0-9]++|[iI]nf(?:inity)?|[nN]a[nN])"
)
SCORED = re.compile(rf"\s*+({_NUMBER}(?:\s++{_NUMBER})*)\s++(?=\()", re.ASCII)


def read_trees(file: NumberedLines) -> Iterator[RawList]:
    """One list for every tree or blank line."""
    position = 0
    pending: list[str] = []
    size = depth = start = 0
    always_ends_blank = _always_ends_blank(file.head)
    is_ended = True  # by a blank line that says nothing else

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
            is_ended = False
        if not text:
            if is_ended:
                yield RawList(str(position), number, [])
                position += 1
            is_ended = True
            continue
        if not pending:
            start, size, depth = number, 0, 0
        depth += open_brackets(text)
        if size <= MAX_LINE:  # beyond the limit, text is only counted
            pending.append(text)
            size += len(text) + 1
        if depth <= 0:
            is_ended = number == start and not always_ends_blank
            yield finish()
    if pending:
        yield finish()
    if file.damage:
        yield _damaged(position, number, file.damage)


def _always_ends_blank(head: Sequence[str]) -> bool:
    """Whether trees on a line and blank lines take turns to the end; one tree tells nothing."""
    is_blank = [not line.strip() for line in head]
    return len(head) > 2 and is_blank == [False, True] * (len(head) // 2)


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
    columns = match[1].split()
    is_from_python = len(columns) > 1 and "\t" not in match[1]
    score = float(columns[0]) * math.log(2) if is_from_python else float(columns[-1])
    return RawCandidate(number, text[match.end() :], score if math.isfinite(score) else None)


def _damaged(position: int, number: int, damage: str) -> RawList:
    problem = ("truncated", f"the file is cut short: {damage}")
    return RawList(str(position), number, [RawCandidate(number, "", problem=problem)])
