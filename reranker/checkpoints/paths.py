"""What names models: files and quoted globs -> the files of an ensemble."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from reranker.errors import InputError


def checkpoint_paths(given: Iterable[str]) -> list[Path]:
    """The files named, globs expanded; raises InputError for a name that matches nothing."""
    paths: list[Path] = []
    for name in given:
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not matches:
            raise InputError(f"{name}: no such file")
        paths.extend(Path(match) for match in matches)
    return paths
