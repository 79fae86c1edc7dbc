"""N-best files: for each sentence the trees a parser proposes, best first.

A file becomes lists in three steps: the reader of its dialect (``dialects``, one file each) finds
each sentence's candidates as text; ``faithful`` makes them trees of the sentence's words or rejects
them; ``reading`` pools several files. ``docs/formats.md`` shows every dialect.
"""

from reranker.nbest.data import Candidate, NBest, Rejected, Sentence
from reranker.nbest.dialects.registry import FORMATS
from reranker.nbest.reading import NBestFiles, ReadOptions, read_nbest
from reranker.nbest.words import check_words

__all__ = [
    "FORMATS",
    "Candidate",
    "NBest",
    "NBestFiles",
    "ReadOptions",
    "Rejected",
    "Sentence",
    "check_words",
    "read_nbest",
]
