"""Trees of historical corpora (IcePaHC, FarPaHC and others in Penn's historical style, ``.psd``) as
trees of plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from reranker.errors import TreeError
from reranker.trees.tree import Tree

ENDING = ".psd"
_NO_WORDS = ("CODE", "ID", "METADATA")
_EMPTY = re.compile(r"0|\*.*\*(-[0-9]+)?|\*")
_NUMBER = "NUM"  # whose leaf 0 is a word
_ID = re.compile(r"\(ID\s+[^(),\s]+,[^()\s]*\s*\)\s*\)\s*$")
_NAMELESS_ROOT = re.compile(r"\s*\(\s*\(")
_LEMMA = re.compile(r"(?<=.)-[^-]+$")
_LEAF = re.compile(r"\(([^\s()]+)\s+([^\s()]+)\s*\)")
_MIN_LEMMAS = 3
_DASH = "<dash>"
_FIRST_HALF = re.compile(r"(?<=.)\$$")
_SECOND_HALF = re.compile(r"^\$(?=[^\d$])")
_JOINT = "\0"


def has_id(line: str) -> bool:
    """Return whether the line ends with the identifier that a historical corpus gives each tree."""
    return "(ID" in line and _ID.search(line) is not None


def is_historical(text: str) -> bool:
    """Return whether a tree has a historical corpus's identifier beside its only constituent."""
    return has_id(text) and _NAMELESS_ROOT.match(text) is not None


def has_lemmas(texts: Iterable[str]) -> bool:
    """Return whether the leaves in these lines or trees of a corpus end with lemmas: more than half
    of them, and at least ``_MIN_LEMMAS``, have a hyphen. One tree alone may hold hyphenated words.
    """
    found = [word for text in texts for leaf in _LEAF.findall(text) if (word := _word(*leaf))]
    lemmas = sum(_LEMMA.search(word) is not None for word in found)
    return lemmas >= _MIN_LEMMAS and 2 * lemmas > len(found)


def plain(text: str, *, has_lemmas: bool) -> str | None:
    """Return the tree without identifiers, codes, lemmas and empty elements; None if no word is
    left.

    If the corpus ``has_lemmas``, the text after a leaf's last hyphen is its lemma. The two
    parts of a word, ``hest$ $inn``, are joined, with the tag of the first, if both are children of
    the same constituent; elsewhere they are two words without marks.

    >>> plain("( (IP-MAT (NP-SBJ *con*) (VBDI sá-sjá) (NP-OB1 (N-A hest$-hestur) (D-A $inn-hinn)))"
    ...       "(ID X,.1))", has_lemmas=True)
    '( (IP-MAT (VBDI sá) (NP-OB1 (N-A hestinn))))'

    Raises TreeError if the text is not a tree.
    """
    tree = Tree.from_string(text)
    words = [_word(node.label, str(node.children[0])) for node in _preterminals(tree)]
    if has_lemmas:
        words = [_LEMMA.sub("", word) for word in words]
    kept = _plain(tree, iter(_marked(words)))
    return None if kept is None else kept.to_string()


def _preterminals(tree: Tree) -> Iterator[Tree]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.is_preterminal:
            yield node
        elif node.label not in _NO_WORDS:
            stack += reversed([child for child in node.children if isinstance(child, Tree)])


def _marked(words: list[str]) -> list[str]:
    """Replace the marks of two halves of a word by joints; any other ``$`` belongs to its word."""
    full = [place for place, word in enumerate(words) if word]
    pairs = [
        (first, second)
        for first, second in pairwise(full)
        if _FIRST_HALF.search(words[first]) and _SECOND_HALF.search(words[second])
    ]
    for first, second in pairs:
        words[first] = _FIRST_HALF.sub(_JOINT, words[first])
        words[second] = _SECOND_HALF.sub(_JOINT, words[second])
    return words


def _plain(tree: Tree, words: Iterator[str]) -> Tree | None:
    """Return the tree with these words at its preterminals, or None if all are empty; work bottom
    up, without recursion."""
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
            if word := next(words):
                children[-1].append(Tree(node.label, (word.replace(_DASH, "-"),)))
        elif node.label not in _NO_WORDS:
            if any(isinstance(child, str) for child in node.children):
                raise TreeError("not-a-tree", f"words without a tag in {node.label[:40]!r}")
            labels.append(node.label)
            children.append([])
            stack.append(None)
            stack += reversed([child for child in node.children if isinstance(child, Tree)])
    return children[0][0] if children[0] else None


def _word(label: str, leaf: str) -> str:
    """Return the leaf of a preterminal; "" if the leaf is empty or not part of the text."""
    if label in _NO_WORDS:
        return ""
    if _EMPTY.fullmatch(leaf) and not (leaf == "0" and label.startswith(_NUMBER)):
        return ""
    return leaf


def _joined(children: list[Tree]) -> list[Tree]:
    """Join words in two parts, and remove the joints of other words."""
    joined: list[Tree] = []
    for child in children:
        before = joined[-1] if joined else None
        if child.is_preterminal and before is not None and before.is_preterminal:
            first, second = str(before.children[0]), str(child.children[0])
            if first.endswith(_JOINT) and second.startswith(_JOINT):
                joined[-1] = Tree(before.label, (first[:-1] + second[1:],))
                continue
        joined.append(child)
    return [_unmarked(child) if child.is_preterminal else child for child in joined]


def _unmarked(node: Tree) -> Tree:
    return Tree(node.label, (str(node.children[0]).strip(_JOINT),))
