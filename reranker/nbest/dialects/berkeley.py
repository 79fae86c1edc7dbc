"""Berkeley's lists: ``score tree`` lines and a blank line after each list.

Scores are natural logarithms. There can be several, with tabs between: the sentence's, then the
tree's. BLLIP's Python ``ScoredParse`` prints two numbers with a space between: the
parser's score in base 2, then the reranker's. The parser can also leave the scores out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import bracketed, score_text
from reranker.nbest.dialects.dialect import Dialect, Head
from reranker.nbest.lines import NumberedLines, of_length, separated
from reranker.nbest.notation import may_be_tree

_NUMBER = (
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?|\.[0-9]++|[iI]nf(?:inity)?|[nN]a[nN])"
)
_SCORED = re.compile(rf"\s*+({_NUMBER}(?:\s++{_NUMBER})*)\s++(?=\()", re.ASCII)
# A constituent's last word, matched from its first character: the time stays linear.
_LAST_WORD = re.compile(r"(?<![^()\s])([^()\s]++)\s*+\)")


def _recognise(head: Head) -> bool:
    if _SCORED.match(head.first):
        matches = map(_SCORED.match, head.lines)
        return any(match and may_be_tree(match.string[match.end() :]) for match in matches)
    is_tree = head.first[:1] == "(" and not head.is_linearized
    return is_tree and head.has_tree and _are_lists(head)


def _are_lists(head: Head) -> bool:
    """Return whether there are blank lines and, between them, different trees of the same words."""
    trees = [(line.strip(), _LAST_WORD.findall(line)) for line in head.all]
    pairs = [
        (text != next_text, words == next_words)
        for (text, words), (next_text, next_words) in itertools.pairwise(trees)
        if words and next_words
    ]
    return ("", []) in trees and 2 * pairs.count((True, True)) > len(pairs)


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Return the lists of a file. Without a blank line in the file's head, every line is a list."""
    has_lists = any(not line.strip() for line in file.head)
    groups = separated(file) if has_lists else of_length(file, 1)
    return file.numbered(
        (start, [_scored(candidate, file) for candidate in candidates])
        for start, candidates in groups
    )


def _scored(line: RawCandidate, file: NumberedLines) -> RawCandidate:
    match = _SCORED.match(line.text)
    if match is None:
        unusable, _, tree = line.text.partition("\t")
        if unusable[:1] == "(" or tree[:1] != "(" or not may_be_tree(tree):
            return line
        file.report_score(line.line, unusable, "berkeley scores are numbers before the tree")
        return RawCandidate(line.line, tree)
    columns = match[1].split()
    is_from_python = len(columns) > 1 and "\t" not in match[1]
    score = float(columns[0]) * math.log(2) if is_from_python else float(columns[-1])
    text = line.text[match.end() :]
    return RawCandidate(line.line, text, score if math.isfinite(score) else None)


def _write(nbest: NBest, position: int) -> str:
    lines = [f"{score_text(entry)}\t{bracketed(entry)}\n" for entry in nbest.candidates]
    return "".join(lines) + "\n"


BERKELEY = Dialect(
    name="berkeley",
    description="score and tree on a line, a blank line after each list",
    recognise=_recognise,
    read=_read,
    write=_write,
    notation=None,
    looks_for_blank_line=True,
)
