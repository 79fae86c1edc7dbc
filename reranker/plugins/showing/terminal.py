"""Trees as text: drawn by nltk where there is room, else as an outline.

Text written from right to left always gets the outline. Some terminals reorder such words and
others do not, so no drawing has them below their tags on both; in the outline each word is followed
by its tag, in Latin letters, which keep it in place on both. Unicode's marks of direction are not
written: few terminals know them, and they would stay in what is copied or piped.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from reranker.trees.marks import MarkedTree, display_width, places, printable
from reranker.trees.nltk_tree import as_nltk
from reranker.trees.node import Node

_GAP = "   "
_WIDEST_LABEL = 10_000  # columns; nltk compiles an expression that grows with them
_MAX_DEPTH = 100  # nltk recurses, and nobody reads a deeper drawing
_RIGHT, _WRONG, _CHANGED, _PLAIN = "\033[32m", "\033[31m", "\033[1m", "\033[0m"
_MARKED = re.compile(r"(\*?)([^\s*/✓✗]+)([✓✗]?)")


def draw(trees: Sequence[tuple[str, MarkedTree]], width: int) -> list[str]:
    """Return the lines of titled trees: side by side if they fit into ``width`` columns, else one
    below another, and as outlines if a drawing alone is too wide."""
    drawings = [_drawing(tree, width) for _, tree in trees]
    if None in drawings:
        drawings = [outline(tree) for _, tree in trees]
    blocks = [[title, *(lines or [])] for (title, _), lines in zip(trees, drawings, strict=True)]
    columns = [max(map(display_width, block)) for block in blocks]
    if sum(columns) + len(_GAP) * (len(blocks) - 1) > width:
        return [line for block in blocks for line in [*block, ""]][:-1]
    rows = itertools.zip_longest(*blocks, fillvalue="")
    return [
        _GAP.join(
            cell + " " * (column - display_width(cell))
            for cell, column in zip(row, columns, strict=True)
        ).rstrip()
        for row in rows
    ]


def outline(marked: MarkedTree) -> list[str]:
    """Return a line for each constituent, indented; a constituent that holds only words takes one
    line.

    >>> from reranker.trees.tree import Tree
    >>> for line in outline(MarkedTree(Tree.from_string("(S (NP (PRP It)) (VP (VBZ runs)))"))):
    ...     print(line)
    S
    ├─ NP It/PRP
    └─ VP runs/VBZ
    """
    lines: list[str] = []
    stack: list[tuple[Node | str, str, str]] = [(marked.tree, "", "")]
    while stack:
        node, start, indent = stack.pop()
        if isinstance(node, str) or node.is_preterminal:
            lines.append(start + _word(node))
            continue
        words = [child for child in node.children if isinstance(child, str) or child.is_preterminal]
        text = " ".join([marked.label(node), *map(_word, words)])
        if len(words) == len(node.children):
            lines.append(start + text)
            continue
        lines.append(start + marked.label(node))
        last = (node.children[-1], indent + "└─ ", indent + "   ")
        others = [(child, indent + "├─ ", indent + "│  ") for child in node.children[:-1]]
        stack.extend([last, *reversed(others)])
    return lines


def paint(line: str) -> str:
    """Return the line with ANSI colours: right brackets green, wrong ones red, changed ones
    bold."""

    def colour(match: re.Match[str]) -> str:
        codes = (_CHANGED if match[1] else "") + {"✓": _RIGHT, "✗": _WRONG, "": ""}[match[3]]
        return f"{codes}{match[0]}{_PLAIN}" if codes else match[0]

    return _MARKED.sub(colour, line)


def _drawing(marked: MarkedTree, width: int) -> list[str] | None:
    """Return nltk's drawing; None if it is wider than ``width`` or too deep, if nltk, which counts
    characters, would get the words' widths wrong, or for text from right to left."""
    if marked.is_right_to_left:
        return None
    words = [printable(word) for word in marked.tree.leaves()]
    is_simple = all(display_width(word) == len(word) for word in words)
    if not is_simple or sum(len(word) + 1 for word in words) > width + 1:
        return None
    if max(place.depth for place in places(marked.tree)) > _MAX_DEPTH:
        return None
    from nltk.tree.prettyprinter import TreePrettyPrinter

    tree = as_nltk(marked.tree, marked.label)
    for copy in tree.subtrees():
        copy[:] = [printable(child) if isinstance(child, str) else child for child in copy]
    text = TreePrettyPrinter(tree).text(unicodelines=True, maxwidth=min(width, _WIDEST_LABEL))
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    return lines if max(map(len, lines)) <= width else None


def _word(node: Node | str) -> str:
    if isinstance(node, str):
        return printable(node)
    return f"{printable(str(node.children[0]))}/{printable(node.label)}"
