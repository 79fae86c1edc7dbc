"""The common part of parsers that run in this process: Python packages, and models of ours."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Sequence

from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.lists import BatchParser, list_of_one
from reranker.process.cancellation import Stopped
from reranker.trees.tree import Tree

_LONGEST_REASON = 200  # characters


class InProcessParser(BatchParser):
    """Calls ``lists``, which returns a list for each sentence or the reason why there is none, from
    one thread at a time: the library uses several cores by itself and need not be thread-safe.
    Running calls are finished after ``stop``; a sentence has no time limit."""

    batch_sizes = (4, 8, 16, 32)

    def __init__(
        self, name: str, lists: Callable[[Sequence[Sentence]], list[NBest | str] | str]
    ) -> None:
        super().__init__(f"the parser {name}")
        self._lists = lists
        self._lock = threading.Lock()

    def _run(self, sentences: Sequence[Sentence]) -> list[NBest | str] | str:
        with self._lock:
            if self._is_stopped:
                raise Stopped
            try:
                return self._lists(sentences)
            except Exception as error:  # whatever a library raises costs one sentence
                return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]


class OneTreeParser(InProcessParser):
    """Calls ``trees``, which makes a tree of each sentence. It has no score: it can be ranked by
    the language models alone."""

    def __init__(self, name: str, trees: Callable[[Sequence[Sentence]], Sequence[Tree]]) -> None:
        self._trees = trees
        super().__init__(name, self._lists_of_one)

    def _lists_of_one(self, sentences: Sequence[Sentence]) -> list[NBest | str] | str:
        trees = zip(self._trees(sentences), sentences, strict=True)
        return [list_of_one(tree, sentence) for tree, sentence in trees]


def check_installed(name: str) -> None:
    """Raise InputError unless the package of that name, which is also the name of the extra and of
    the parser, is installed."""
    if importlib.util.find_spec(name) is None:
        raise InputError(
            f"the parser {name} needs the package {name}: pip install 'parse-reranker[{name}]'"
        )


def cannot_load(name: str, model: str, error: Exception) -> InputError:
    """Return the error for a model that the library cannot load, for whatever reason."""
    reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return InputError(f"{model}: the parser {name} cannot load it: {reason[:_LONGEST_REASON]}")
