"""The kinds of files that are neither text nor trees in brackets: their recognition from the
beginning of a file, and the advice to a user. Every reader calls ``kind_of``."""

from reranker.files.kinds.start import Kind, Start
from reranker.files.kinds.table import (
    CHUNKS,
    KINDS,
    LONGEST_START,
    TABS,
    TAGGED,
    kind_of,
    refuse_other_than_trees,
)

__all__ = [
    "CHUNKS",
    "KINDS",
    "LONGEST_START",
    "TABS",
    "TAGGED",
    "Kind",
    "Start",
    "kind_of",
    "refuse_other_than_trees",
]
