"""Drawings in files: the sink of `rerank show --svg`, ``--png`` and ``--pdf``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reranker.errors import InputError
from reranker.files.output import write_errors
from reranker.plugins.showing.changes import Change
from reranker.trees.picture import write_picture
from reranker.trees.svg import svg
from reranker.work.loop import Identity
from reranker.work.sinks import ListSink


class Pictures(ListSink[Change]):
    """Drawings: one file for one sentence, which is kept here until there is no other, or a folder
    with a file for each sentence, named after it."""

    def __init__(self, path: Path, kind: str, inputs: Sequence[str]) -> None:
        """Take the file or folder, the kind of picture, and the files that must not be replaced."""
        self._path, self._kind, self._inputs = path, kind, inputs
        self._is_file = path.suffix == f".{kind}" and not path.is_dir()
        self._names: set[str] = set()
        self.number = 0
        """The number of sentences drawn."""

    @contextmanager
    def opened(self, identity: Callable[[], Identity]) -> Iterator[None]:
        """Write the only file at the end."""
        yield
        for change in self:
            self._draw(change, self._path)

    def append(self, answer: Change) -> None:
        """Draw a sentence. Raises InputError for one file and several sentences."""
        if not self._is_file:
            self._draw(answer, None)
        elif self:
            raise InputError(
                f"{self._path}: more than one sentence to draw: pick one with --sentence, or name "
                "a folder instead of a file"
            )
        else:
            super().append(answer)

    def _draw(self, change: Change, file: Path | None) -> None:
        """Write the drawing to the file, or into the folder."""
        if change.best is None:
            return
        if file is None and not self._path.exists() and self._path.parent.is_dir():
            with write_errors(self._path):
                self._path.mkdir()
        picture = file or self._path / f"{self._new_name(change)}.{self._kind}"
        drawing = svg(change.titled())
        write_picture(drawing, self._kind, picture, self._inputs, is_named=file is not None)
        self.number += 1

    def _new_name(self, change: Change) -> str:
        """Return a name that no drawing has yet."""
        name = re.sub(r"[^\w.-]+", "_", change.id).lstrip(".")[:100] or "sentence"
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        name = next(each for each in itertools.chain([name], numbered) if each not in self._names)
        self._names.add(name)
        return name
