"""N-best files: for each sentence the trees a parser proposes, best first.

A file becomes lists in three steps: the reader of its dialect (``dialects``, one file each) finds
each sentence's candidates as text; ``faithful`` accepts the trees of the sentence and rejects
other candidates; ``reading`` pools several files. ``from_candidates`` does the same for
candidates that are not in a file. ``docs/formats.md`` shows every dialect.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker.nbest.candidates import from_candidates
    from reranker.nbest.data import Candidate, NBest, ReadOptions, Rejected, Sentence
    from reranker.nbest.dialects.registry import FORMATS
    from reranker.nbest.reading import NBestFiles, read_nbest
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

_FILES = {
    "FORMATS": "dialects.registry",
    "NBestFiles": "reading",
    "check_words": "words",
    "from_candidates": "candidates",
    "read_nbest": "reading",
}


def __getattr__(name: str) -> Any:
    """Import on first use: a parser's lists need no reader of files."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FILES.get(name, 'data')}"), name)
