"""BLLIP/Charniak's lists, from the command line, from Python or from its reranker.

``parseIt -N50`` prints a tab in the header and a blank line after each list, with ``-P`` trees over
several lines; the Python interface prints a space and no blank line::

    2   0                                   number of candidates, sentence id
    -14.5159                                base-2 log-probability, after a reranker its score first
    (S1 (NP (NN Introduction)))
    -22.7244
    (S1 (INTJ (NN Introduction)))
"""

from __future__ import annotations

import math

from reranker.nbest.data import NBest
from reranker.nbest.dialects.counted import HEADER, counted_text, read_counted
from reranker.nbest.dialects.dialect import Dialect, Head


def _recognise(head: Head) -> bool:
    header = HEADER.fullmatch(head.first)
    return bool(header and (header[3] or header[4])) and not head.trees_are_linearized


def _write(nbest: NBest, position: int) -> str:
    name = "_".join(nbest.id.split()) or "x"
    return counted_text(nbest, f"\t{name}", lambda score: score / math.log(2))


BLLIP = Dialect(
    name="bllip",
    description="BLLIP/Charniak: N<TAB>id, then scores and trees; also its Python interface's",
    recognise=_recognise,
    read=read_counted,
    write=_write,
)
