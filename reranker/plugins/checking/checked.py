"""``reranker.check``: the suspicious places of a treebank, from Python."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reranker.errors import TreeError, positive
from reranker.plugins.checking.evidence import Evidence
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.suspicion import Place, places
from reranker.trees.treebank import Name, placed_trees, treebank_files

logger = logging.getLogger(__name__)


class Checked(NamedTuple):
    """A place in a file."""

    file: str
    line: int
    place: Place


def check(
    files: Name | Iterable[Name], *, most: int = 1_000, parser_model: str = "", language: str = ""
) -> list[Checked]:
    """Return the most suspicious places of a treebank, as `rerank check` does: of a file, a folder,
    or several. A tree that cannot be judged is left out, and logged. Raises InputError for anything
    but names, for files without trees, without a model, and unless ``most`` is a positive
    integer."""
    positive("most", most)
    names = treebank_files(files)
    evidence, index = Evidence(parser_model, language), Index.of(names)

    def warn(text: str | None) -> None:
        if text:
            logger.warning("%s", text)

    def found() -> Iterator[Checked]:
        for text, tree in placed_trees(names):
            warn(evidence.language.add(text.file, tree.words()))
            try:
                suspicious, _ = places(tree, evidence, index)
            except TreeError as error:
                logger.warning("%s: left out: %s", text, error)
                continue
            for place in suspicious:
                yield Checked(text.file, text.line, place)
        warn(evidence.language.end())

    return heapq.nlargest(most, found(), key=lambda checked: checked.place.suspicion)
