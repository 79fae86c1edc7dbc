"""Rerank a parser's n-best constituency trees with language models.

>>> import reranker
>>> reranker.parse("She met the man on Monday.")[0].best.constituents  # doctest: +SKIP
>>> from reranker import Reranker
>>> Reranker.load("ckpt/").rerank(candidates).tree  # doctest: +SKIP
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":  # files are claimed by flock, and children ended by signals
    raise ImportError("parse-reranker needs Linux or macOS; on Windows, install it in WSL 2")

if TYPE_CHECKING:
    from collections.abc import Callable

    from reranker import client, trees
    from reranker.client import AsyncClient, Client
    from reranker.defaults import parse
    from reranker.errors import RerankError
    from reranker.pipeline import Reranker
    from reranker.ranking import Ranked, Ranking, Weighing
    from reranker.ranking.sentence import Constituent
    from reranker.trees import Tree

    __version__: str
    measure: Callable[..., Any]
    surprisal: Callable[..., Any]

__all__ = [
    "AsyncClient",
    "Client",
    "Constituent",
    "Ranked",
    "Ranking",
    "RerankError",
    "Reranker",
    "Tree",
    "Weighing",
    "__version__",
    "client",
    "measure",
    "parse",
    "surprisal",
    "trees",
]

_MODULES = {
    "AsyncClient": "client",
    "Client": "client",
    "Constituent": "ranking.sentence",
    "Ranked": "ranking",
    "Ranking": "ranking",
    "RerankError": "errors",
    "Reranker": "pipeline",
    "Tree": "trees",
    "Weighing": "ranking",
    "measure": "plugins.measure.measurement",
    "parse": "defaults",
    "surprisal": "plugins.surprisal.surprisal",
}


def __getattr__(name: str) -> Any:
    """Import on first use: most of the package, and the command line, work without torch."""
    if name == "__version__":
        from importlib.metadata import version

        return version("parse-reranker")
    if name in ("client", "trees"):
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(__all__)
