"""``nltk.Tree`` from our trees and back, for ``reranker.trees.tree``. Nothing here recurses."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from string import whitespace
from typing import TYPE_CHECKING

from reranker.errors import TreeError
from reranker.trees.node import Node

if TYPE_CHECKING:
    import nltk

_WORD_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


def as_text(tree: nltk.Tree, most: int) -> str:
    """Return an nltk tree in brackets. Raises TreeError for an object that is neither a tree nor a
    word, and if more than ``most`` brackets are open, as in a tree within itself."""
    closing, depth = object(), 0
    text: list[str] = []
    stack: list[object] = [tree]
    while stack:
        node = stack.pop()
        if node is closing:
            text.append(")")
            depth -= 1
        elif isinstance(node, str):
            text.append(_symbol(node))
        elif isinstance(node, list) and hasattr(node, "label"):
            label = str(node.label())
            if label or (node and isinstance(node[0], str)):
                label = _symbol(label)
            text.append(f"({label}")
            depth += 1
            if depth > most:
                raise TreeError("too-deep", f"more than {most} brackets are open")
            stack.append(closing)
            stack.extend(reversed(node))
        else:
            raise TreeError("not-a-tree", f"neither a tree nor a word: {repr(node)[:40]}")
    return " ".join(text)


def as_nltk(tree: Node, label: Callable[[Node], str] = attrgetter("label")) -> nltk.Tree:
    """Return a tree of ours as nltk's, with ``label(node)`` as the label of each node."""
    import nltk

    root = nltk.Tree(label(tree), [])
    todo = [(tree, root)]
    while todo:
        node, target = todo.pop()
        for child in node.children:
            if isinstance(child, str):
                target.append(child)
            else:
                target.append(nltk.Tree(label(child), []))
                todo.append((child, target[-1]))
    return root


def _symbol(text: str) -> str:
    """Return ``text`` as a word or label can be written between brackets."""
    if not text or any(space in text for space in whitespace):
        raise TreeError("not-a-tree", f"not one word or label: {text[:40]!r}")
    return text.translate(_WORD_BRACKETS)
