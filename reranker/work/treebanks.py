"""Treebanks as a source of trees, for the commands that write other trees."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from reranker.errors import InputError, KindError
from reranker.trees.treebank import TreeText, named, read_texts, treebank_files
from reranker.work.loop import Counts, Source

logger = logging.getLogger(__name__)


class Treebanks(Source[TreeText]):
    """The trees of all files. Of several files, one of another kind is logged, and counted in
    ``faults``; the only one raises its error."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self.files = names, treebank_files(names)
        self.faults = 0
        super().__init__(self._all())

    def _all(self) -> Iterator[TreeText]:
        for file in self.files:
            try:
                yield from read_texts([file])
            except KindError as error:
                if len(self.files) == 1:
                    raise
                logger.warning("%s", error)
                self.faults += 1

    def end(self, counts: Counts) -> None:
        """Raise InputError if no tree has been written."""
        if not counts["candidates"]:
            raise InputError(f"{named(self._names)}: no trees")
