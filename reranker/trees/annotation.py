"""Annotation that treebanks have and parsers do not learn from: marks of disfluencies, and the
parts of labels behind separators other than - and =."""

from __future__ import annotations

import re
from collections.abc import Collection

from reranker.errors import InputError
from reranker.trees.linearize import FUNCTION_TAG
from reranker.trees.tree import Tree

_SEPARATORS = re.compile(r"(?:[^\w\s()=-]|_)+")


class Annotation:
    """The labels to leave out with all their contents, and the characters that end a label."""

    def __init__(self, drop: Collection[str] = (), separators: str = "") -> None:
        """Raise InputError for separators that are not punctuation, or that are - or =."""
        if separators and not _SEPARATORS.fullmatch(separators):
            raise InputError(
                f"--separators {separators}: expected punctuation, without - and =, which always "
                "end a label"
            )
        self._behind = re.compile(f"(?<!^)[{re.escape(separators)}].*") if separators else None
        self._drop = {_name(label) for label in drop}
        self.unseen = set(self._drop)
        """The labels to leave out that no tree has had so far."""

    def stripped(self, tree: Tree) -> Tree | None:
        """Return the tree without the annotation, or None if nothing is left.

        >>> tree = Tree.from_string("(S (-DFL- E_S) (EDITED (PRP I)) (NP;*SBJ* (PRP#x# I)))")
        >>> Annotation({"DFL", "EDITED"}, ";#").stripped(tree)
        Tree.from_string('(S (NP (PRP I)))')
        """
        if self._behind is None and not self._drop:
            return tree
        children: list[list[Tree | str]] = [[]]
        labels: list[str] = []
        stack: list[Tree | str | None] = [tree]
        while stack:
            node = stack.pop()
            if node is None:
                inner, last = tuple(children.pop()), labels.pop()
                if inner:
                    children[-1].append(Tree(last, inner))
            elif isinstance(node, str):
                children[-1].append(node)
            elif (label := self._cut(node.label)) is not None:
                labels.append(label)
                children.append([])
                stack += [None, *reversed(node.children)]
        left = children[0]
        return left[0] if left and isinstance(left[0], Tree) else None

    def _cut(self, label: str) -> str | None:
        """Return the label up to the first separator, or None if the label is to be left out."""
        label = self._behind.sub("", label) if self._behind else label
        name = _name(label)
        if name not in self._drop:
            return label
        self.unseen.discard(name)
        return None


def _name(label: str) -> str:
    """Return a label without its function tags and the hyphens around it."""
    return FUNCTION_TAG.sub("", label).strip("-")
