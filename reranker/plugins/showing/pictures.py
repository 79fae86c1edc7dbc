"""Drawings in files: the sink of `rerank show --svg`, ``--png`` and ``--pdf``."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reranker.errors import InputError
from reranker.files.output import write_errors
from reranker.plugins.showing.changes import Change
from reranker.trees.picture import TooLargeError, write_picture
from reranker.trees.svg import svg
from reranker.work.loop import Identity
from reranker.work.sinks import ListSink

logger = logging.getLogger(__name__)

_MOST_PAGES = 1000  # of a PDF, which is made in memory


class Pictures(ListSink[Change]):
    """Drawings: one file for one sentence, or a PDF with a page for each sentence, which are kept
    here until the last one; or a folder with a file for each sentence, named after it."""

    def __init__(self, path: Path, kind: str, inputs: Sequence[str]) -> None:
        """Take the file or folder, the kind of picture, and the files that must not be replaced."""
        self._path, self._kind, self._inputs = path, kind, inputs
        self._is_file = path.suffix == f".{kind}" and not path.is_dir()
        self._names: set[str] = set()
        self.number = 0
        """The number of sentences drawn."""
        self.left_out = 0
        """The number of sentences whose drawings are too large for a folder's files."""

    @contextmanager
    def opened(self, identity: Callable[[], Identity]) -> Iterator[None]:
        """Write the only file at the end."""
        yield
        if drawings := [svg(change.titled()) for change in self]:
            write_picture(drawings, self._kind, self._path, self._inputs)
            self.number = len(drawings)

    def append(self, answer: Change) -> None:
        """Draw a sentence; leave it out of a folder, with a message, if its drawing is too large.
        Raises InputError for one file and too many sentences."""
        if answer.best is None:
            return
        if self._is_file and len(self) == (_MOST_PAGES if self._kind == "pdf" else 1):
            many = "one sentence" if len(self) == 1 else f"{_MOST_PAGES} sentences"
            raise InputError(
                f"{self._path}: more than {many} to draw: pick some with --sentence, or name a "
                "folder instead of a file"
            )
        if self._is_file:
            super().append(answer)
        else:
            try:
                self._draw(answer)
            except TooLargeError as error:
                logger.warning("left out: %s", error)
                self.left_out += 1

    def _draw(self, change: Change) -> None:
        """Write the drawing into the folder."""
        if not self._path.exists() and self._path.parent.is_dir():
            with write_errors(self._path):
                self._path.mkdir()
        picture = self._path / f"{self._new_name(change)}.{self._kind}"
        write_picture([svg(change.titled())], self._kind, picture, self._inputs, is_named=False)
        self.number += 1

    def _new_name(self, change: Change) -> str:
        """Return a name that no drawing has yet."""
        name = re.sub(r"[^\w.-]+", "_", change.id).lstrip(".")[:100] or "sentence"
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        name = next(each for each in itertools.chain([name], numbered) if each not in self._names)
        self._names.add(name)
        return name
