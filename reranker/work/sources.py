"""Sentences from memory as a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic

from reranker.work.loop import Counts, Identity, S


class Memory(Generic[S]):
    """Sentences that are there, or are made one by one."""

    size: int | None = None
    position: int = 0

    def __init__(self, sentences: Iterable[S]) -> None:
        self._sentences = iter(sentences)

    def __iter__(self) -> Iterator[S]:
        return self._sentences

    def skip(self) -> S | None:
        """Return the next sentence; None if there is none left."""
        return next(self._sentences, None)

    def identity(self) -> Identity:
        """Return nothing: sentences in memory have no name by which a run could be resumed."""
        return {}

    def end(self, counts: Counts) -> None:
        """Accept whatever has been counted."""

    def close(self) -> None:
        """Do nothing: whoever gave the sentences closes them."""
