"""Constituency trees: bracketed text, language model tokens, treebanks."""

from reranker.trees.tree import Tree

__all__ = ["Tree"]
