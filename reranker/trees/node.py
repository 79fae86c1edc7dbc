"""The part of a tree that drawings and nltk need: ``Tree`` has it, and calls them."""

from __future__ import annotations

from typing import Protocol


class Node(Protocol):
    """A constituent or a part of speech; see ``reranker.trees.tree.Tree``."""

    @property
    def label(self) -> str: ...
    @property
    def children(self) -> tuple[Node | str, ...]: ...
    @property
    def is_preterminal(self) -> bool: ...
    def leaves(self) -> list[str]: ...
