"""Treebank files -> trees: one a line or pretty-printed, plain, gzip or zstd."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from reranker.errors import InputError, TreeError
from reranker.files.text import read_lines
from reranker.trees.splitting import split_trees
from reranker.trees.tree import Tree

logger = logging.getLogger(__name__)


def read_treebank(paths: Iterable[Path]) -> Iterator[Tree]:
    """Every tree of the files, in order; a broken one is skipped and logged with file, line and
    reason. Raises InputError for a file that cannot be read to its end or contains no tree."""
    for path in paths:
        count = 0
        for number, text in split_trees(read_lines(path)):
            try:
                yield Tree.from_string(text)
                count += 1
            except TreeError as error:
                logger.warning("%s:%d: skipped, %s: %s", path, number, error.code, error)
        if count == 0:
            raise InputError(f"{path}: contains no trees")
