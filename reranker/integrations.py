"""The former name of ``reranker.plugins.pipelines``."""

import sys
from importlib import import_module
from typing import Any

sys.modules[__name__] = import_module("reranker.plugins.pipelines")


def __getattr__(name: str) -> Any:
    """Tell type checkers that the module has all names of the other one."""
    raise AttributeError(name)
