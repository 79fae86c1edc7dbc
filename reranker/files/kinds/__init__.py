"""The kinds of files that are neither text nor trees in brackets: how each is recognised from its
beginning, and what a user can do with it. Every reader asks ``kind_of``."""

from reranker.files.kinds.kind import Kind
from reranker.files.kinds.start import Start
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
