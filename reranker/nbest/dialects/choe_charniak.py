"""Choe & Charniak's lists: a number of candidates without an id, then their trees.

In scored output each tree's negative log-likelihood is on the line before it: a language model's,
of the linearised tree.
"""

from __future__ import annotations

from reranker.nbest.data import NBest
from reranker.nbest.dialects.counted import HEADER, counted_text, read_counted
from reranker.nbest.dialects.dialect import Dialect, Head


def _recognise(head: Head) -> bool:
    header = HEADER.fullmatch(head.first)
    return bool(header and not (header[3] or header[4])) and not head.trees_are_linearized


def _write(nbest: NBest, position: int) -> str:
    return counted_text(nbest, "", lambda score: 0.0 - score)


CHOE_CHARNIAK = Dialect(
    name="choe-charniak",
    description="N, then N trees, each after its loss or not",
    recognise=_recognise,
    read=read_counted,
    write=_write,
)
