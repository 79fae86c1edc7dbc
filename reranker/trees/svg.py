"""Trees as SVG.

The layout is our own: columns as wide as their words, words on one line, and a colour for each
bracket. nltk's SVG has columns of one width, in which long words overlap, and one colour; svgling
has no row of words, and needs svgwrite. The first word of text that is written from right to left
is at the right, as in spaCy's displaCy.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from reranker.files.opening import open_file
from reranker.trees.marks import LEGEND, MarkedTree, Place, display_width, places, printable
from reranker.trees.node import Node

_FONT_SIZE = 14
_CHARACTER = 8.5  # pixels, of an average character
_GAP = 16  # between words
_ROW = 36
_MARGIN = 24
_START = '<svg xmlns="http://www.w3.org/2000/svg" '
_FONT = f' font-family="sans-serif" font-size="{_FONT_SIZE}">'
_COLOURS = {None: "#222", True: "#1a7f37", False: "#cf222e"}


def drawing(tree: Node) -> str:
    """Draw one tree, without a title."""
    return svg([("", MarkedTree(tree))])


def svg(trees: Sequence[tuple[str, MarkedTree]], legend: str = LEGEND) -> str:
    """Draw titled trees, side by side."""
    left = float(_MARGIN)
    height = 0.0
    elements: list[str] = []
    for title, marked in trees:
        panel, right, bottom = _panel(title, marked, left)
        elements += panel
        left, height = right + _MARGIN, max(height, bottom)
    marks = [mark for _, marked in trees for mark in marked.marks.values()]
    if any(mark.is_changed or mark.is_right is not None for mark in marks):
        height += _ROW
        elements.append(_text(_MARGIN, height, legend, "#666", "start"))
    size = f'width="{left:g}" height="{height + _MARGIN:g}"'
    return "\n".join(
        [
            f"{_START}{size}{_FONT}",
            '<rect width="100%" height="100%" fill="white"/>',
            *elements,
            "</svg>\n",
        ]
    )


def is_drawing(path: Path) -> bool:
    """Return whether a file begins as the output of ``svg`` does. Raises OSError."""
    with open_file(path) as file:
        first = file.readline(200).decode("utf-8", "replace").rstrip("\n")
    return first.startswith(_START) and first.endswith(_FONT)


def _panel(title: str, marked: MarkedTree, left: float) -> tuple[list[str], float, float]:
    """Return the elements of one tree, and its right and bottom edges."""
    nodes = places(marked.tree)
    x, right = _columns(nodes, marked, left)
    right = max(right, left + _CHARACTER * display_width(title))
    direction = ""
    if marked.is_right_to_left:
        direction = "rtl"
        x = [left + right - middle for middle in x]
    bottom = max(node.depth for node in nodes)
    y = [_MARGIN + _ROW * (1 + _row(node, bottom)) for node in nodes]
    elements = [_text(left, _MARGIN, printable(title), "#666", "start")]
    for place, (node, _, parent) in enumerate(nodes):
        if parent >= 0:
            turn = y[parent] + _ROW / 3
            elements.append(
                f'<path d="M{x[parent]:g} {y[parent] + 5:g}V{turn:g}H{x[place]:g}'
                f'V{y[place] - _FONT_SIZE:g}" fill="none" stroke="#999"/>'
            )
        if isinstance(node, str):
            elements.append(_text(x[place], y[place], printable(node), direction=direction))
        else:
            mark = marked.marks.get(id(node))
            colour = _COLOURS[mark.is_right if mark else None]
            is_bold = mark is not None and mark.is_changed
            elements.append(_text(x[place], y[place], marked.label(node), colour, bold=is_bold))
    return elements, right, _MARGIN + _ROW * (1 + bottom)


def _columns(nodes: list[Place], marked: MarkedTree, left: float) -> tuple[list[float], float]:
    """Return the centre of each node in pixels, and the right edge of the tree. A node is as wide
    as its text or its children side by side, whichever is wider."""
    widths, of_children = [0.0] * len(nodes), [0.0] * (len(nodes) + 1)  # the last: of the root
    for place in reversed(range(len(nodes))):
        node, _, parent = nodes[place]
        text = printable(node) if isinstance(node, str) else marked.label(node)
        widths[place] = max(_CHARACTER * display_width(text) + _GAP, of_children[place])
        of_children[parent] += widths[place]
    middles, free = [], [left] * (len(nodes) + 1)  # where the next child of each node starts
    for place, (_, _, parent) in enumerate(nodes):
        middles.append(free[parent] + widths[place] / 2)
        free[place] = free[parent] + (widths[place] - of_children[place]) / 2
        free[parent] += widths[place]
    return middles, left + widths[0]


def _row(node: Place, bottom: int) -> int:
    """Return a node's row: words are on the lowest row, their parts of speech right above."""
    if isinstance(node.node, str):
        return bottom
    return bottom - 1 if node.node.is_preterminal else node.depth


def _text(
    x: float,
    y: float,
    text: str,
    colour: str = "#222",
    anchor: str = "middle",
    *,
    bold: bool = False,
    direction: str = "",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    direction = f' direction="{direction}"' if direction else ""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}"{weight}{direction}>'
        f"{escape(text)}</text>"
    )
