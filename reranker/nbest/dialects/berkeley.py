"""Berkeley's lists: ``score tree`` lines and a blank line after each list.

Scores are natural logarithms. There can be several, with tabs between: the sentence's, then the
tree's. BLLIP's Python ``ScoredParse`` prints two numbers with a space between: the
parser's score in base 2, then the reranker's. The parser can also leave the scores out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import score_text
from reranker.nbest.dialects.recognition import SCORED
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import NumberedLines, of_length, separated
from reranker.nbest.notation import may_be_tree


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Return the lists of a file. Without a blank line in the file's head, every line is a list."""
    has_lists = any(not line.strip() for line in file.head)
    groups = separated(file) if has_lists else of_length(file, 1)
    return file.numbered(
        (start, [_scored(candidate, file) for candidate in candidates])
        for start, candidates in groups
    )


def _scored(line: RawCandidate, file: NumberedLines) -> RawCandidate:
    match = SCORED.match(line.text)
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
    lines = [f"{score_text(entry)}\t{entry.bracketed}\n" for entry in nbest.candidates]
    return "".join(lines) + "\n"


BERKELEY = Dialect(
    read=_read,
    write=_write,
    notation=None,
    looks_for_blank_line=True,
)
