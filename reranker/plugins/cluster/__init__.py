"""Many machines, with Ray: ``rerank cluster`` and ``map_lists`` for files and data sets, ``app``
for the service (docs/cluster.md). Needs ``pip install 'parse-reranker[ray]'``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reranker.registry import Entry, Features

if TYPE_CHECKING:
    from reranker.plugins.cluster.dataset import map_lists
    from reranker.plugins.cluster.serving import app

__all__ = ["app", "map_lists"]

FEATURES: Features = {
    "commands": {
        "cluster": Entry("command", "rerank many files, on one machine or many, with Ray", 20)
    },
    "servers": {"ray": Entry("command:serve")},
}

_MODULES = {"app": "serving", "map_lists": "dataset"}


def __getattr__(name: str) -> Any:
    """Import on first use: neither needs the other, and workers need neither."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
