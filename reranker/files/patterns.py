"""File names on the command line, which may be patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from reranker.errors import InputError


def expanded(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the names with globs expanded; the name of an existing file may look like a glob.

    Raises InputError for a glob that no file matches.
    """
    paths: list[str] = []
    for name in map(str, names):
        is_glob = glob.has_magic(name) and not os.path.lexists(name)
        matches = sorted(glob.glob(name, recursive=True)) if is_glob else [name]
        if not matches:
            raise InputError(f"{name}: no file matches")
        paths.extend(matches)
    return paths
