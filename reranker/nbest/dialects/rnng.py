"""RNNG's samples: ``id ||| log-probability ||| tree``, natural logarithm, in any order.

Samples repeat; rnng-bert pads its beams by repeating the last tree. A sentence's first line is any
sample, so candidates are put in an order of preference.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from reranker.nbest.data import NBest, Order, RawCandidate, RawList
from reranker.nbest.dialects.by_sentence import lists_by_sentence
from reranker.nbest.dialects.candidate_text import bare, finite, is_number, score_text
from reranker.nbest.dialects.recognition import RNNG_LINE
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import NumberedLines

_BARS = "|||"
_NO_ID = ("no-id", "the line does not begin with a sentence's number")


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Yield a list for every number from 0 to the greatest."""
    for raw in lists_by_sentence(file, RNNG_LINE, keep_others=True):
        yield _preferred_first(raw, [_candidate(line, file) for line in raw.candidates])


def _preferred_first(raw: RawList, samples: Sequence[RawCandidate]) -> RawList:
    """Order the samples by score or, where none has a score, by frequency; keep ties in the file's
    order."""
    if not samples:
        return raw
    times = Counter(map(_tree, samples))
    order: Order = "frequency"
    if any(sample.parser_score is not None for sample in samples):
        order = "score"

    def preference(sample: RawCandidate) -> float:
        if order == "frequency":
            return times[_tree(sample)]
        return -math.inf if sample.parser_score is None else sample.parser_score

    # ``reverse`` keeps the order of ties, too.
    return raw._replace(candidates=sorted(samples, key=preference, reverse=True), order=order)


def _tree(sample: RawCandidate) -> str:
    return "".join(sample.text.split())  # brackets are attached or spaced


def _candidate(line: RawCandidate, file: NumberedLines) -> RawCandidate:
    match = RNNG_LINE.match(line.text)
    if match is None:
        return line._replace(text=line.text.strip(), problem=line.problem or _NO_ID)
    score, bars, tree = (part.strip() for part in match[2].partition(_BARS))
    if not bars:
        return RawCandidate(line.line, score)
    if score and not is_number(score):
        file.report_score(line.line, score, "rnng a score is one number")
    return RawCandidate(line.line, tree, finite(score))


def _write(nbest: NBest, position: int) -> str:
    return "".join(
        f"{position} ||| {score_text(candidate)} ||| {bare(candidate)}\n"
        for candidate in nbest.candidates
    )


RNNG = Dialect(
    read=_read,
    write=_write,
    notation=None,
    candidate_texts=lambda head: (line.rpartition(_BARS)[2] for line in head),
)
