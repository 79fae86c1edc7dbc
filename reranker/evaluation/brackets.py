"""Gold trees, read and checked before any comparison, and corpus F1."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from reranker.errors import InputError, TreeError
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import Gold, f1
from reranker.files.text import encoding_fault
from reranker.trees.tree import Tree
from reranker.trees.treebank import Name, TreeText, named, read_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLLINS = Parameters.collins()


class GoldTree(Gold):
    """A gold tree under COLLINS' settings, which can lend its part-of-speech tags to other
    trees."""

    def __init__(self, text: str, gold_tags: bool) -> None:
        """Read the tree. With ``gold_tags``, other trees with the same number of words get its tags
        before the comparison. Raises TreeError if the text is not a tree of words with tags."""
        self.tree = Tree.from_string(text)
        super().__init__(text, _COLLINS)
        if self._line.problem:
            raise TreeError("not-a-tree", self._line.problem)
        self._tags = self.tree.word_tags() if gold_tags else None

    def tagged(self, tree: Tree) -> Tree:
        """Return the tree, with the gold tags if ``gold_tags`` is set and the number of words
        agrees."""
        if self._tags is not None:
            with contextlib.suppress(TreeError):
                return tree.with_tags(self._tags)
        return tree

    def _text(self, tree: str | Tree) -> str:
        # EVALB reports the fault of a text that is not a tree.
        if self._tags is not None and isinstance(tree, str):
            with contextlib.suppress(TreeError):
                tree = Tree.from_string(tree)
        return tree if isinstance(tree, str) else self.tagged(tree).to_string()


class GoldTrees:
    """The gold trees of a treebank in order, kept as text; brackets are computed when needed."""

    def __init__(self, names: Iterable[Name], gold_tags: bool) -> None:
        """Read and check the trees of files, folders or patterns.

        Raises InputError for unusable files and, naming file and line, for anything that is not a
        tree.
        """
        names = list(names)
        self.name = named(names)
        self.places = [place for place in read_sentences(names) if place.text]
        self._gold_tags = gold_tags
        if not self.places:
            raise InputError(f"{self.name}: no gold trees")
        for place in self.places:
            try:
                if place.problem:
                    raise TreeError(*place.problem)
                GoldTree(place.text, gold_tags)
            except TreeError as error:
                raise InputError(f"{place}: {_not_a_gold_tree(place, error)}") from error

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[GoldTree]:
        return (GoldTree(place.text, self._gold_tags) for place in self.places)


def _not_a_gold_tree(place: TreeText, error: TreeError) -> str:
    """Return the error for a line that is not a gold tree; quote nothing from a binary file."""
    if fault := encoding_fault(place.text):
        return f"not a gold tree: {fault}"
    return f"not a gold tree: {error}: {place.text[:60]!r}"


def corpus_f1(counts: NDArray[np.int64]) -> float:
    """Return corpus F1 in percent from [S, 3] counts: brackets are summed first, as EVALB does."""
    matched, gold, test = counts.sum(0).tolist()
    return float(f1(matched, gold, test))


def f1_by_row(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return F1 in percent, [...], from [..., 3] matched, gold and test brackets; 0 without
    brackets."""
    return f1(counts[..., 0], counts[..., 1], counts[..., 2])
