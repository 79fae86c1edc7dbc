"""Trees against gold trees, for corpus F1: all roots made alike, brackets counted as EVALB does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from reranker.errors import InputError, TreeError
from reranker.evaluation.lines import with_top_root
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import Gold, f1
from reranker.trees.tree import Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class GoldTree(Gold):
    """The same, with every root called TOP."""

    def __init__(self, line: str, parameters: Parameters, gold_tags: bool) -> None:
        """With ``gold_tags`` a tree with as many words gets the gold part-of-speech tags first.
        Raises TreeError if the line then is not a tree."""
        super().__init__(with_top_root(line), parameters)
        self._tags = Tree.from_string(line).tags() if gold_tags else None

    def _text(self, tree: str | Tree) -> str:
        # Of a text that is not a tree, or has other words, EVALB says what is wrong.
        with contextlib.suppress(TreeError):
            if self._tags is not None:
                parsed = Tree.from_string(tree) if isinstance(tree, str) else tree
                tree = parsed.with_tags(self._tags)
        return with_top_root(tree if isinstance(tree, str) else tree.to_string())


def gold_trees(lines: Iterable[str], name: str, gold_tags: bool) -> Iterator[GoldTree]:
    """The gold trees in the lines of the file ``name``, to be compared under COLLINS' settings.

    Raises InputError for a line that is not a tree if the ``gold_tags`` are to be used.
    """
    parameters = Parameters.collins()
    for number, line in enumerate(lines, 1):
        try:
            gold = GoldTree(line, parameters, gold_tags)
        except TreeError as error:
            raise InputError(f"{name}:{number}: {not_a_gold_tree(line, error)}") from error
        yield gold


def not_a_gold_tree(line: str, error: TreeError) -> str:
    """The message about a line that is not a tree; nothing is quoted from a binary file."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return "not a gold tree: not UTF-8 text"
    return f"not a gold tree: {error}: {line.strip()[:60]!r}"


def corpus_f1(counts: NDArray[np.int64]) -> float:
    """Percent, of [S, 3] counts: brackets are summed first, as EVALB does."""
    matched, gold, test = counts.sum(0).tolist()
    return float(f1(matched, gold, test))


def f1_by_row(counts: NDArray[Any]) -> NDArray[np.float64]:
    """[...] percent, of [..., 3] matched, gold and test brackets; 0 where there are none."""
    return f1(counts[..., 0], counts[..., 1], counts[..., 2])
