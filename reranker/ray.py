"""The former name of ``reranker.plugins.cluster``."""

import sys
from importlib import import_module
from typing import Any

sys.modules[__name__] = import_module("reranker.plugins.cluster")


def __getattr__(name: str) -> Any:
    """Tell type checkers that the module has all names of the other one."""
    raise AttributeError(name)
