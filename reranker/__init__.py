"""Parse text into constituency trees, and choose the best of another parser's.

Text in, the best tree of each sentence out:

>>> import reranker
>>> (ranking,) = reranker.parse("We saw it.")
>>> ranking.tree
'(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))) (. .)))'

How sure each bracket is:

>>> for bracket in ranking.best.constituents[2:]:
...     print(bracket.label, bracket.text, f"{bracket.probability:.1f}")
NP We 1.0
VP saw it 1.0
NP it 1.0

The best of a parser's trees of a sentence:

>>> models = reranker.Reranker.load()
>>> trees = ["(S (NP (PRP We)) (VP (VBD saw)) (NP (PRP it)))",
...          "(S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))))"]
>>> models.rerank(trees).best.index
1
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":  # files are claimed by flock, and children ended by signals
    raise ImportError("parse-reranker needs Linux or macOS; on Windows, install it in WSL 2")

if TYPE_CHECKING:
    from reranker import client, trees
    from reranker.client import AsyncClient, Client
    from reranker.defaults import parse
    from reranker.errors import RerankError
    from reranker.pipeline import Reranker
    from reranker.ranking import Ranked, Ranking, Weighing
    from reranker.ranking.sentence import Constituent
    from reranker.trees import Tree

    __version__: str

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
    "parse",
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
    "parse": "defaults",
}


def __getattr__(name: str) -> Any:
    """Import on first use: most of the package, and the command line, work without torch."""
    if name == "__version__":
        from importlib.metadata import version

        return version("parse-reranker")
    if name in ("client", "trees"):
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        # `from reranker import nbest` asks here first, before it imports the module.
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
            registry = import_module(f"{__name__}.registry")
            if registry.has("functions", name):
                return registry.load("functions", name)
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, for completion; those of plug-ins, too."""
    registry = import_module(f"{__name__}.registry")
    return sorted([*__all__, *registry.names("functions")])
