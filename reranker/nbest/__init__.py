"""N-best files: for each sentence the trees a parser proposes, best first.

A file becomes lists in three steps: the reader of its dialect (``dialects``, one file each) finds
each sentence's candidates as text; ``faithful`` accepts the trees of the sentence and rejects
other candidates; ``reading`` pools several files. ``from_candidates`` does the same for
candidates that are not in a file. ``docs/formats.md`` shows every dialect.
"""

from reranker.nbest.candidates import from_candidates
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
    "from_candidates",
    "read_nbest",
]
