"""The job of `rerank convert` and `rerank cluster --to`: lists in another format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from reranker import registry
from reranker.errors import TreeError
from reranker.files.records import AnswerCounts
from reranker.files.visible import counted
from reranker.nbest import NBest
from reranker.nbest.dialects.registry import DIALECTS
from reranker.nbest.writing import list_text
from reranker.outputs.form import Form
from reranker.trees.tree import Tree
from reranker.work.loop import Counts, Job


class TreeFile(Form[Any]):
    """A file of trees: one tree in brackets per line, or a format of the group ``tree-files``."""

    is_table = True

    def __init__(self, name: str) -> None:
        self._module = None if name in DIALECTS else registry.load("tree-files", name)

    def begin(self) -> str:
        return self._module.START if self._module else ""

    def line(self, answer: Any, number: int) -> str:
        """Return the answer: the text of a tree."""
        return str(answer)

    def tree(self, tree: Tree, position: int) -> str:
        """Return the text of a tree; ``position`` counts trees from 0. Raises TreeError if the
        format cannot hold the tree."""
        return self._module.write(tree, position) if self._module else f"{tree.to_string()}\n"

    def end(self) -> str:
        return self._module.END if self._module else ""


@dataclass(frozen=True, slots=True)
class ConvertSettings:
    """The format in which lists are written."""

    name: str
    beam: int | None = None
    """Lines of a list, for formats that need it."""


class Converted(NamedTuple):
    """A list, and its text in another format."""

    given: NBest
    text: str
    problem: str | None = None
    """The reason why the list is not written, with its place."""


class Convert(Job[NBest, Converted]):
    """The conversion of lists: whole ones to a dialect, their first trees to a file of trees."""

    def __init__(self, settings: ConvertSettings, first: int = 0) -> None:
        """Take the format, and the place of the first list in its file."""
        self._settings, self._first = settings, first
        self._trees = TreeFile(settings.name)

    def answers(self, sentences: Iterable[NBest]) -> Iterator[tuple[NBest, Converted]]:
        """Convert the lists. Raises InputError for a list that is longer than the beam."""
        for position, nbest in enumerate(sentences, self._first):
            yield nbest, self._converted(nbest, position)

    def _converted(self, nbest: NBest, position: int) -> Converted:
        name, beam = self._settings.name, self._settings.beam
        if name in DIALECTS:
            return Converted(nbest, list_text(nbest, position, name, beam))
        if not nbest.candidates:
            return Converted(nbest, "")
        first = nbest.candidates[0]
        try:
            return Converted(nbest, self._trees.tree(first.tree, position))
        except TreeError as error:
            return Converted(nbest, "", f"{first.file}:{first.line}: not written: {error}")

    def counts(self, sentence: NBest, answer: Converted) -> AnswerCounts:
        """Count the candidates that are written; a list that had none at all has failed."""
        rejected = len(sentence.rejected) + (answer.problem is not None)
        is_empty = not (sentence.candidates or sentence.rejected)
        written = 0 if answer.problem else len(sentence.candidates)
        if self._settings.name == "trees" or self._settings.name not in DIALECTS:
            written = min(1, written)  # the first tree
        return AnswerCounts(None if is_empty else 0, written, rejected, 0)


def conversion_summary(counts: Counts) -> str:
    """Return the line about all lists."""
    written = (
        f"{counted(counts['sentences'], 'sentence')}, "
        f"{counted(counts['candidates'], 'candidate')} written"
    )
    without = f", {counts['failed']} without a candidate" if counts["failed"] else ""
    return f"{written}, {counts['rejected']} rejected{without}"
