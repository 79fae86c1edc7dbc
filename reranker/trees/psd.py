"""Trees of historical corpora (IcePaHC, FarPaHC and others in Penn's historical style, ``.psd``) as
trees of plain words."""

from __future__ import annotations

import re

from reranker.errors import TreeError
from reranker.trees.tree import Tree

ENDING = ".psd"
_NO_WORDS = ("CODE", "ID", "METADATA")
_EMPTY = re.compile(r"0|\*.*\*(-[0-9]+)?|\*")
_NUMBER = "NUM"  # whose leaf 0 is a word
_ID = re.compile(r"\(ID\s+[^(),\s]+,[^()\s]*\s*\)\s*\)\s*$")
_NAMELESS_ROOT = re.compile(r"\s*\(\s*\(")
_LEMMA = re.compile(r"(?<=.)-[^-]+$")
_DASH = "<dash>"
_JOINT = "$"


def has_id(line: str) -> bool:
    """Return whether the line ends with the identifier that a historical corpus gives each tree."""
    return "(ID" in line and _ID.search(line) is not None


def is_historical(text: str) -> bool:
    """Return whether a tree has a historical corpus's identifier beside its only constituent."""
    return has_id(text) and _NAMELESS_ROOT.match(text) is not None


def plain(text: str) -> str | None:
    """Return the tree without identifiers, codes, lemmas and empty elements; None if no word is
    left.

    The text after a leaf's last hyphen is its lemma if most leaves of the tree have one. The two
    parts of a word, ``hest$ $inn``, are joined, with the tag of the first, if both are children of
    the same constituent.

    >>> plain("( (IP-MAT (NP-SBJ *con*) (VBDI sá-sjá) (NP-OB1 (N-A hest$-hestur) (D-A $inn-hinn)))"
    ...       "(ID X,.1))")
    '( (IP-MAT (VBDI sá) (NP-OB1 (N-A hestinn))))'

    Raises TreeError if the text is not a tree.
    """
    tree = Tree.from_string(text)
    words = [word for node in tree.preorder() if node.is_preterminal and (word := _word(node))]
    has_lemmas = sum(_LEMMA.search(word) is not None for word in words) * 2 > len(words)
    kept = _plain(tree, has_lemmas)
    return None if kept is None else kept.to_string()


def _plain(tree: Tree, has_lemmas: bool) -> Tree | None:
    """Return the tree, or None if it has no words; work bottom up, without recursion."""
    children: list[list[Tree]] = [[]]
    stack: list[Tree | None] = [tree]
    labels: list[str] = []
    while stack:
        node = stack.pop()
        if node is None:
            label, inner = labels.pop(), _joined(children.pop())
            if inner:
                children[-1].append(Tree(label, tuple(inner)))
        elif node.is_preterminal:
            word = _word(node)
            if has_lemmas:
                word = _LEMMA.sub("", word)
            if word:
                word = word.replace(_DASH, "-")
                children[-1].append(Tree(node.label, (word,)))
        elif node.label not in _NO_WORDS:
            if any(isinstance(child, str) for child in node.children):
                raise TreeError("not-a-tree", f"words without a tag in {node.label[:40]!r}")
            labels.append(node.label)
            children.append([])
            stack.append(None)
            stack += reversed([child for child in node.children if isinstance(child, Tree)])
    return children[0][0] if children[0] else None


def _word(node: Tree) -> str:
    """Return the leaf of a preterminal; "" if the leaf is empty or not part of the text."""
    leaf = str(node.children[0])
    if node.label in _NO_WORDS:
        return ""
    if _EMPTY.fullmatch(leaf) and not (leaf == "0" and node.label.startswith(_NUMBER)):
        return ""
    return leaf


def _joined(children: list[Tree]) -> list[Tree]:
    """Join words in two parts, and remove the marks of other words."""
    joined: list[Tree] = []
    for child in children:
        before = joined[-1] if joined else None
        if child.is_preterminal and before is not None and before.is_preterminal:
            first, second = str(before.children[0]), str(child.children[0])
            if first.endswith(_JOINT) and second.startswith(_JOINT) and len(first) > 1:
                joined[-1] = Tree(before.label, (first[:-1] + second[1:],))
                continue
        joined.append(child)
    return [_unmarked(child) if child.is_preterminal else child for child in joined]


def _unmarked(node: Tree) -> Tree:
    word = str(node.children[0])
    return Tree(node.label, (word.strip(_JOINT) or word,))
