"""The dialects, one per line, and the detection of a file's dialect.

A file has the first dialect that recognises it: dialects that a single line identifies come first,
dialects with little more than trees last.
"""

from __future__ import annotations

from collections.abc import Sequence

from reranker.files.kinds import kind_of
from reranker.nbest.dialects.berkeley import BERKELEY
from reranker.nbest.dialects.corenlp import CORENLP
from reranker.nbest.dialects.counted import BLLIP, CHOE_CHARNIAK
from reranker.nbest.dialects.dialect import Dialect, Head
from reranker.nbest.dialects.fairseq import FAIRSEQ
from reranker.nbest.dialects.json_lines import JSONL
from reranker.nbest.dialects.rnng import RNNG
from reranker.nbest.dialects.seq2seq import OPENNMT, SEQ2SEQ
from reranker.nbest.dialects.trees import TREES

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        JSONL,
        FAIRSEQ,
        RNNG,
        CORENLP,
        BLLIP,
        CHOE_CHARNIAK,
        BERKELEY,
        SEQ2SEQ,
        OPENNMT,
        TREES,
    )
}
KNOWN_BY_A_LINE = (JSONL, FAIRSEQ, CORENLP)
"""The dialects that a single line identifies, whatever else a file looks like."""
FORMATS = {name: dialect.description for name, dialect in DIALECTS.items()}
"""A line about each dialect."""


def recognise(lines: Sequence[str]) -> Dialect | None:
    """Return the first dialect that a file with these first lines can have; None for a file of
    another kind, which may have numbers and brackets, too."""
    if dialect := recognise_by_a_line(lines):
        return dialect
    if kind_of("".join(lines)):
        return None
    head = Head(lines)
    return next((dialect for dialect in DIALECTS.values() if dialect.recognise(head)), None)


def recognise_by_a_line(lines: Sequence[str]) -> Dialect | None:
    """Return the dialect that a single line of these gives away, if any."""
    head = Head(lines)
    return next((dialect for dialect in KNOWN_BY_A_LINE if dialect.recognise(head)), None)
