"""OpenNMT's ``-n_best K``: K linearised trees a sentence, one a line, and nothing that says K.

A list with fewer is filled up with blank lines.
"""

from __future__ import annotations

from reranker.nbest.data import NBest
from reranker.nbest.dialects.candidate_text import linearized
from reranker.nbest.dialects.dialect import Dialect
from reranker.nbest.dialects.seq2seq import layout, read_seq2seq
from reranker.nbest.notation import Notation


def _write(nbest: NBest, position: int) -> str:
    return "".join(f"{linearized(candidate)}\n" for candidate in nbest.candidates)


OPENNMT = Dialect(
    name="opennmt",
    description="linearised trees, --beam K lines a sentence",
    recognise=lambda head: False,
    read=read_seq2seq,
    write=_write,
    notation=Notation.LINEARIZED,
    layout=layout,
    needs_beam=True,
)
