"""Treebank files -> trees: one a line or pretty-printed, plain or gzip."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from reranker.errors import InputError, TreeError
from reranker.files.text import open_text
from reranker.trees.tree import Tree, split_trees

logger = logging.getLogger(__name__)


def read_treebank(paths: Iterable[Path]) -> Iterator[Tree]:
    """Every tree of the files, in order. A broken one is logged with file, line and reason and left
    out; raises InputError for a file that cannot be read to its end or holds no tree."""
    for path in paths:
        count = 0
        with open_text(path) as lines:
            for number, text in split_trees(lines):
                try:
                    yield Tree.from_string(text)
                    count += 1
                except TreeError as error:
                    logger.warning("%s:%d: left out, %s: %s", path, number, error.code, error)
        if lines.damage is not None:
            raise InputError(f"{path}: damaged: {lines.damage}")
        if count == 0:
            raise InputError(f"{path}: holds no trees")
