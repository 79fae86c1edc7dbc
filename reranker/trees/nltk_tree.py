"""``nltk.Tree`` from our trees and back. Nothing here recurses, as in ``reranker.trees.tree``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.errors import TreeError
from reranker.trees.tree import MAX_DEPTH, WHITE_SPACE, Tree

if TYPE_CHECKING:
    import nltk

_WORD_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


def as_text(tree: nltk.Tree) -> str:
    """Return an nltk tree in brackets. Raises TreeError for what is neither a tree nor a word, and
    for a tree that is too deep, as one within itself is."""
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
            if depth > MAX_DEPTH:
                raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are open")
            stack.append(closing)
            stack.extend(reversed(node))
        else:
            raise TreeError("not-a-tree", f"neither a tree nor a word: {repr(node)[:40]}")
    return " ".join(text)


def as_nltk(tree: Tree) -> nltk.Tree:
    """Return a tree of ours as nltk's."""
    import nltk

    root = nltk.Tree(tree.label, [])
    todo = [(tree, root)]
    while todo:
        node, target = todo.pop()
        for child in node.children:
            if isinstance(child, str):
                target.append(child)
            else:
                target.append(nltk.Tree(child.label, []))
                todo.append((child, target[-1]))
    return root


def _symbol(text: str) -> str:
    """Return ``text`` as a word or label can be written between brackets."""
    if not text or any(space in text for space in WHITE_SPACE):
        raise TreeError("not-a-tree", f"not one word or label: {text[:40]!r}")
    return text.translate(_WORD_BRACKETS)
