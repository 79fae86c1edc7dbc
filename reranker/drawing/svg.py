"""Trees as SVG.

The layout is our own: columns as wide as their words, words on one line, and a colour for each
bracket. nltk's SVG has columns of one width, in which long words overlap, and one colour; svgling
has no row of words, and needs svgwrite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from reranker.drawing.changes import LEGEND, MarkedTree, Place, places, printable
from reranker.drawing.terminal import display_width

_FONT_SIZE = 14
_CHARACTER = 8.5  # pixels, of an average character
_GAP = 16  # between words
_ROW = 36
_MARGIN = 24
_COLOURS = {None: "#222", True: "#1a7f37", False: "#cf222e"}


def svg(trees: Sequence[tuple[str, MarkedTree]]) -> str:
    """A picture of titled trees, side by side."""
    left = float(_MARGIN)
    height = 0.0
    elements: list[str] = []
    for title, marked in trees:
        panel, right, bottom = _panel(title, marked, left)
        elements += panel
        left, height = right + _MARGIN, max(height, bottom)
    if any(marked.marks for _, marked in trees):
        height += _ROW
        elements.append(_text(_MARGIN, height, LEGEND, "#666", "start"))
    size = f'width="{left:g}" height="{height + _MARGIN:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" '
            f'font-size="{_FONT_SIZE}">',
            '<rect width="100%" height="100%" fill="white"/>',
            *elements,
            "</svg>\n",
        ]
    )


def _panel(title: str, marked: MarkedTree, left: float) -> tuple[list[str], float, float]:
    """The elements of one tree, and where it ends on the right and at the bottom."""
    nodes = places(marked.tree)
    x, right = _columns(nodes, marked, left)
    right = max(right, left + _CHARACTER * display_width(title))
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
            elements.append(_text(x[place], y[place], printable(node)))
        else:
            mark = marked.marks.get(id(node))
            colour = _COLOURS[mark.is_right if mark else None]
            is_bold = mark is not None and mark.is_changed
            elements.append(_text(x[place], y[place], marked.label(node), colour, bold=is_bold))
    return elements, right, _MARGIN + _ROW * (1 + bottom)


def _columns(nodes: list[Place], marked: MarkedTree, left: float) -> tuple[list[float], float]:
    """The middle of each node in pixels, parents centred over their children, and the right end."""
    x = [0.0] * len(nodes)
    for place, (node, _, parent) in enumerate(nodes):
        if isinstance(node, str):
            width = display_width(printable(node))
            for label in _labels_above(nodes, parent, marked):
                width = max(width, display_width(label))
            column = _CHARACTER * width + _GAP
            x[place] = left + column / 2
            left += column
    ends: dict[int, list[float]] = {}
    for place in reversed(range(len(nodes))):
        if place in ends:
            x[place] = (min(ends[place]) + max(ends[place])) / 2
        ends.setdefault(nodes[place].parent, []).append(x[place])
    return x, left


def _labels_above(nodes: list[Place], parent: int, marked: MarkedTree) -> Iterator[str]:
    """The labels that are centred over one word alone."""
    while parent >= 0:
        node, _, above = nodes[parent]
        if isinstance(node, str) or len(node.children) > 1:
            return
        yield marked.label(node)
        parent = above


def _row(node: Place, bottom: int) -> int:
    """Words stand on the lowest row, their parts of speech right above."""
    if isinstance(node.node, str):
        return bottom
    return bottom - 1 if node.node.is_preterminal else node.depth


def _text(
    x: float, y: float, text: str, colour: str = "#222", anchor: str = "middle", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )
