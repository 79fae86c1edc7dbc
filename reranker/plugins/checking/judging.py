"""The job of `rerank check`, and ``reranker.check``: the suspicious places of a treebank."""

from __future__ import annotations

import contextlib
import heapq
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reranker.errors import InputError, positive
from reranker.plugins.checking.evidence import Evidence
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.suspicion import Place, places
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import Name, treebank_files
from reranker.work import loop
from reranker.work.loop import Counts, Identity
from reranker.work.parses import Parses
from reranker.work.sinks import ListSink
from reranker.work.tree_files import TreeFiles, TreeJob, TreeSettings

logger = logging.getLogger(__name__)


class Checked(NamedTuple):
    """A place in a file."""

    file: str
    line: int
    place: Place


class Judged(NamedTuple):
    """A sentence of a treebank."""

    file: str
    line: int
    places: list[Place]
    gold: str
    """The treebank's tree."""
    expected: str
    """The parser's tree."""


class Check(TreeJob[Judged]):
    """The job of finding suspicious places."""

    def __init__(
        self, files: TreeFiles, parser_model: str = "", language: str = "", most: int = 1_000
    ) -> None:
        """Load the model and read the treebank a first time. Raises InputError."""
        self._evidence = Evidence(parser_model, language)
        self._index = Index.of(files.files)
        self._most = most

    def identity(self) -> Identity:
        return {"most": self._most}

    def read(self, parses: Parses) -> Judged:
        """Judge a tree. Raises TreeError as ``places``."""
        tree = cleaned(parses.trees[0])
        _warn(self._evidence.language.add(parses.file, tree.words()))
        found, expected = places(parses.trees[0], self._evidence, self._index)
        return Judged(parses.file, parses.line, found, tree.to_string(), expected.tree)

    def end(self, counts: Counts) -> None:
        """Log whether the last file is in another language."""
        _warn(self._evidence.language.end())


def _warn(text: str | None) -> None:
    if text:
        logger.info("%s", text)


class MostSuspicious:
    """The ``most`` suspicious places of the sentences added, each with its sentence."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, Place, Judged]] = []  # the least suspicious first
        self._added = 0

    def add(self, sentence: Judged) -> None:
        """Add the places of a sentence; ties go to the first."""
        for place in sentence.places:
            self._added += 1
            entry = (place.suspicion, -self._added, place, sentence)
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def __iter__(self) -> Iterator[tuple[Place, Judged]]:
        """Yield the places, the most suspicious first."""
        return ((place, sentence) for *_, place, sentence in sorted(self._heap, reverse=True))


class _Kept(ListSink[Judged]):
    """A sink that keeps the most suspicious places alone."""

    def __init__(self, kept: MostSuspicious) -> None:
        self._kept = kept

    def append(self, answer: Judged) -> None:
        self._kept.add(answer)


def open_treebank(names: Name | Iterable[Name]) -> TreeFiles:
    """Open a treebank. Raises InputError if a file of it can be read only once."""
    files = TreeFiles(treebank_files(names), TreeSettings(form="trees"))
    for name in files.files:
        if not Path(name).is_file():
            raise InputError(f"{name}: a treebank is read three times, so it must be a file")
    return files


def check(
    files: Name | Iterable[Name], *, most: int = 1_000, parser_model: str = "", language: str = ""
) -> list[Checked]:
    """Return the most suspicious places of a treebank, as `rerank check` does: of a file, a folder,
    or several. A tree that cannot be judged is left out, and logged. Raises InputError for anything
    but names, for files without trees, without a model, and unless ``most`` is a positive
    integer."""
    kept = MostSuspicious(positive("most", most))
    with contextlib.closing(open_treebank(files)) as treebank:
        loop.run(treebank, Check(treebank, parser_model, language), _Kept(kept))
    return [Checked(sentence.file, sentence.line, place) for place, sentence in kept]
