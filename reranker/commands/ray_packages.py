"""The packages of the extra ``ray``, which most installations lack."""

from __future__ import annotations

import importlib.util

from reranker.errors import InputError


def require_ray(command: str, *packages: str) -> None:
    """Raises InputError, saying what to install, if one of the packages is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            raise InputError(
                f"{command} needs the package {name}: pip install 'parse-reranker[ray]'"
            )
