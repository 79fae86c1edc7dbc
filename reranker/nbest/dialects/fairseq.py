"""fairseq-generate's output: ``S-id`` the source, ``H-id`` a score and a hypothesis, ``P-id`` its
tokens' base-2 log-probabilities, batch by batch and between lines of the log.

The score of ``H`` is divided by a power of the length that the file does not contain, so the sum of
``P`` is taken, or none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from reranker.nbest.data import NBest, RawCandidate, RawList, Sentence
from reranker.nbest.dialects.by_sentence import lists_by_sentence
from reranker.nbest.dialects.candidate_text import finite, linearized
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import NumberedLines
from reranker.nbest.notation import Notation
from reranker.nbest.words import escaped, split_words

_LINE = re.compile(r"([STHDP])-(?P<sentence>[0-9]{1,12})(?:\t(.*))?", re.DOTALL)
_UNKNOWN_SOURCE_WORD = "<unk>"


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Return a list for every number from 0 to the greatest, with the words of the ``S`` line."""
    for raw in lists_by_sentence(file, _LINE, keep_others=False):
        yield _list(raw, file)


def _list(raw: RawList, file: NumberedLines) -> RawList:
    hypotheses: list[RawCandidate] = []
    detokenized: list[RawCandidate] = []
    sentence = None
    before = ""
    is_sorted = False  # nobody knows which P line belongs to which H line
    for line in raw.candidates:
        match = _LINE.match(line.text)
        if match is None:
            hypotheses.append(line)
            continue
        kind, rest = match[1], match[3] or ""
        if kind == "S":
            # XX is a word here, as in sentences on chromosomes.
            words = tuple(map(escaped, split_words(rest)))
            if words and _UNKNOWN_SOURCE_WORD not in words:
                sentence = Sentence(words)
        elif kind in "HD":
            score, _, text = rest.partition("\t")
            has_score = finite(score) is not None or score.strip() in ("-inf", "inf", "nan")
            candidate = RawCandidate(line.line, (text if has_score else rest).strip())
            (hypotheses if kind == "H" else detokenized).append(candidate)
        elif kind == "P" and before == "P":
            file.report_score(line.line, rest, "fairseq each P- line follows its H- line")
            is_sorted = True
        elif kind == "P":
            _set_score(hypotheses or detokenized, rest)
        before = kind
    candidates = hypotheses or detokenized
    if is_sorted:
        candidates = [candidate._replace(parser_score=None) for candidate in candidates]
    return raw._replace(candidates=candidates, sentence=sentence)


def _set_score(candidates: list[RawCandidate], text: str) -> None:
    """Give the latest candidate the sum of a ``P`` line, if every value can be used."""
    values = [finite(value) for value in text.split()]
    usable = [value for value in values if value is not None]
    if candidates and usable and len(usable) == len(values):
        candidates[-1] = candidates[-1]._replace(parser_score=sum(usable) * math.log(2))


def _write(nbest: NBest, position: int) -> str:
    lines = [f"S-{position}\t{' '.join(nbest.words)}"]
    for candidate in nbest.candidates:
        nats = candidate.parser_score
        score = math.nan if nats is None else nats / math.log(2)
        per_token = score / (len(candidate.tokens) + 1)
        lines.append(f"H-{position}\t{per_token}\t{linearized(candidate)}")
        lines.append(f"P-{position}\t{score:.15g}")
    return "\n".join([*lines, ""])


FAIRSEQ = Dialect(
    read=_read,
    write=_write,
    notation=Notation.LINEARIZED,
)
