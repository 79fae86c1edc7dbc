"""The dialects, one line each.

A file is of the first dialect that recognises it: those that a single line gives away come first,
those of which little more than trees is known come last.
"""

from __future__ import annotations

from reranker.nbest.dialects.berkeley import BERKELEY
from reranker.nbest.dialects.bllip import BLLIP
from reranker.nbest.dialects.choe_charniak import CHOE_CHARNIAK
from reranker.nbest.dialects.corenlp import CORENLP
from reranker.nbest.dialects.fairseq import FAIRSEQ
from reranker.nbest.dialects.json_lines import JSONL
from reranker.nbest.dialects.opennmt import OPENNMT
from reranker.nbest.dialects.rnng import RNNG
from reranker.nbest.dialects.seq2seq import SEQ2SEQ
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
FORMATS = {name: dialect.description for name, dialect in DIALECTS.items()}
"""What each dialect is, in a line."""
