"""Rerank a parser's n-best constituency trees with language models.

>>> from reranker import Reranker
>>> Reranker.load(["ckpt/a.pt"]).rerank(candidates).tree  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker.pipeline import Reranker
    from reranker.ranking import Ranking, Weighing
    from reranker.trees.tree import Tree

__all__ = ["Ranking", "Reranker", "Tree", "Weighing"]

_HOME = {"Ranking": "ranking", "Reranker": "pipeline", "Tree": "trees", "Weighing": "ranking"}


def __getattr__(name: str) -> Any:
    """Import on first use: most of the package, and the command line, work without torch."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
