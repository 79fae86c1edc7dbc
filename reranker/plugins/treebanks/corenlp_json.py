"""CoreNLP's ``-outputFormat json``: the trees under ``parse``. Strings are found one by one, so
that a file of any size is read in little memory and each tree has its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from reranker.plugins.treebanks.pieces import broken, piece
from reranker.trees.treebank import TreePiece

_KEY = re.compile(r'(?<!\\)"(?:tokens"\s*:|parse"\s*:\s*("(?:[^"\\]++|\\.)*+"?))')

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?')


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file; ``tokens`` follow the tree of each sentence."""
    has_tree, depth, number = False, 0, 0
    for number, line in enumerate(lines, 1):
        for found in _KEY.finditer(line):
            if found[1]:
                yield _tree(number, found[1])
            elif not has_tree:
                yield broken(number, number, "empty", "a sentence without a tree ('parse')")
            has_tree = bool(found[1])
        outside = _STRING.sub("", line)
        depth += outside.count("{") - outside.count("}")
    if depth:
        yield broken(number, number, "truncated", "the file ends within its JSON")


def _tree(number: int, text: str) -> TreePiece:
    try:
        return piece(number, number, json.loads(text))
    except ValueError as error:
        return broken(number, number, "not-a-tree", f"not JSON: {error}")
