"""The candidates of a sentence as SVG for a page, which styles the drawings and points at their
parts.

A word has the same column in all of them, so that two can be compared. Words are in a row at the
bottom, a constituent is one level above its highest child. The less probable a bracket, the paler
it is; a doubtful one has its probability beside its label. Each bracket is a ``g.node`` with
``data-words``, its first word and the one after its last, and ``data-probability``; the k-th path
of ``g.branches`` is its branches. Each word is a ``g.leaf``. Colours and fonts are attributes, so
that a drawing is complete by itself, and every style sheet overrides them. (``reranker.trees.svg``
draws files: there a tree has columns of its own, and brackets are coloured by gold trees.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import escape
from itertools import accumulate, pairwise

from reranker.languages import is_right_to_left
from reranker.nbest.data import Candidate, Certainty
from reranker.ranking.doubt import percentage
from reranker.ranking.sentence import PROBABILITY_DECIMALS
from reranker.trees.linearize import is_word
from reranker.trees.marks import printable
from reranker.trees.tree import UNKNOWN_TAG

# All lengths are in pixels.
_WORD, _LABEL, _TAG = 15.5, 11.5, 10.5  # sizes of letters
_LEVEL = 28  # from one height to the next
_HALF = 8  # half the height of a label
_PADDING = 5  # beside a label
_SHARE = 28  # for "82%" behind a label
_GAP = 9  # between words
_LEAF = 40  # height of a tag and its word
_MARGIN = 12
_CORNER = 5

_DOUBTFUL = 0.9  # a bracket that is less probable has its number beside it
_PALEST_LABEL = 0.62  # opacity that leaves a contrast of 4.5 to 1
_PALEST_BRANCH = 0.15
_NARROW, _WIDE = frozenset("ijlftI.,:;'!|-`()[]/"), frozenset("mwMW@%")

_TAGGED = re.compile(r"\(([^()\s]+) [^()\s]+\)")  # a word with its tag

_Probabilities = Mapping[tuple[int, int, str], float]


@dataclass(slots=True)
class _Bracket:
    """A constituent; ``children`` are its brackets, and its words by their numbers."""

    label: str
    start: int
    end: int = 0
    height: int = 1
    probability: float | None = None
    children: list[_Bracket | int] = field(default_factory=list)
    share: str = ""  # the text behind the label
    width: float = 0.0
    x: int = 0

    def close(self, end: int, probabilities: _Probabilities | None) -> None:
        """Set all but the place, when all words of the bracket are known."""
        self.end = end
        if probabilities is not None:
            probability = probabilities.get((self.start, end, self.label), 0.0)
            self.probability = round(probability, PROBABILITY_DECIMALS)
            if self.probability < _DOUBTFUL:
                self.share = percentage(self.probability)
        self.label = printable(self.label)
        room = _SHARE if self.share else 0
        self.width = _width(self.label, _LABEL) + 2 * _PADDING + room

    def opacity(self, least: float) -> str:
        """Return the attribute by which an improbable bracket is pale."""
        if self.probability is None or self.probability > 0.99:
            return ""
        return f" opacity='{least + (1 - least) * self.probability:.2f}'"


def drawings(candidates: Sequence[Candidate], certainty: Certainty | None) -> list[str]:
    """Draw candidates of one sentence; without ``certainty`` no bracket is pale."""
    if not candidates:
        return []
    probabilities = None if certainty is None else certainty.probabilities
    words = [printable(word) for word in candidates[0].words]
    tags = [_tags(candidate) for candidate in candidates]
    trees = [_brackets(candidate.tokens, probabilities) for candidate in candidates]
    columns = [
        _GAP + max(_width(word, _WORD), *(_width(tag, _TAG) for tag in each))
        for word, *each in zip(words, *tags, strict=True)
    ]
    for node in (node for tree in trees for node in tree if node.end > node.start):
        columns[node.end - 1] += max(0, node.width + 4 - sum(columns[node.start : node.end]))
    edges = [*accumulate(columns, initial=_MARGIN)]
    places = [round((left + right) / 2) for left, right in pairwise(edges)]
    for tree in trees:
        _place(tree, edges, places)
    width, direction = round(edges[-1] + _MARGIN), ""
    if is_right_to_left(words):
        direction = " direction='rtl'"
        places = [width - x for x in places]
        for node in (node for tree in trees for node in tree):
            node.x = width - node.x

    @cache  # most trees have the same tags, and many the same height
    def leaves(tags: tuple[str, ...], bottom: int) -> str:
        row = "".join(
            f"<g class='leaf'><text x='{x}' y='{bottom + 13}' class='tag' font-size='{_TAG}'>"
            f"{escape(tag)}</text><text x='{x}' y='{bottom + 32}' class='word'>{escape(word)}"
            "</text></g>"
            for x, word, tag in zip(places, words, tags, strict=True)
        )
        return f"<g class='words' font-family='serif' font-size='{_WORD}'{direction}>{row}</g>"

    drawn = []
    for tree, each in zip(trees, tags, strict=True):
        bottom = _MARGIN + tree[0].height * _LEVEL
        drawn.append("".join(_drawing(tree, places, width, bottom, leaves(each, bottom))))
    return drawn


def _tags(candidate: Candidate) -> tuple[str, ...]:
    """Return the tag of each word, empty where none is known."""
    count = sum(map(is_word, candidate.tokens))
    tags: Sequence[str] = candidate.tags or _TAGGED.findall(candidate.text)
    if len(tags) != count:  # because of traces, or of white space that is rare
        tags = candidate.tree.word_tags()
    if len(tags) != count:
        return ("",) * count
    return tuple("" if tag == UNKNOWN_TAG else printable(tag) for tag in tags)


def _brackets(tokens: Sequence[str], probabilities: _Probabilities | None) -> list[_Bracket]:
    """Return the brackets of a linearised tree, parents before children; brackets without a common
    parent get one."""
    found = [_Bracket("TOP", 0)]
    enclosing = [found[0]]
    words = 0
    for token in tokens:
        if is_word(token):
            enclosing[-1].children.append(words)
            words += 1
        elif token[0] == "(":
            node = _Bracket(token[1:], words)
            enclosing[-1].children.append(node)
            enclosing.append(node)
            found.append(node)
        else:
            node = enclosing.pop()
            node.close(words, probabilities)
            enclosing[-1].height = max(enclosing[-1].height, node.height + 1)
    top = found[0]
    top.close(words, None)
    return found[1:] if len(top.children) == 1 and len(found) > 1 else found


def _place(tree: Sequence[_Bracket], edges: Sequence[float], places: Sequence[int]) -> None:
    """Put each bracket above the middle of its first and last child, within the columns of its
    words; ``edges[i]`` is where the column of word ``i`` begins, ``places[i]`` its middle."""
    for node in reversed(tree):  # children before their parents
        ends = [_x(child, places) for child in (*node.children[:1], *node.children[-1:])]
        middle = sum(ends) / len(ends) if ends else edges[node.start]
        half = node.width / 2
        node.x = round(max(edges[node.start] + half, min(middle, edges[node.end] - half)))


def _drawing(
    tree: Sequence[_Bracket], places: Sequence[int], width: int, bottom: int, leaves: str
) -> Iterator[str]:
    """Yield the parts of a drawing; ``bottom`` is where the row of words begins."""
    height = bottom + _LEAF + _MARGIN
    yield (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'"
        f" viewBox='0 0 {width} {height}' text-anchor='middle' fill='#222'>"
        "<g class='branches' fill='none' stroke='#857e72'>"
    )
    for node in tree:
        path = "".join(_branch(node, child, places, bottom) for child in node.children)
        yield f"<path d='{path}'{node.opacity(_PALEST_BRANCH)}/>"
    yield f"</g><g font-family='sans-serif' font-size='{_LABEL}' font-weight='600'>"
    for node in tree:
        yield _label(node, _y(node, bottom))
    yield f"</g>{leaves}</svg>"


def _branch(node: _Bracket, child: _Bracket | int, places: Sequence[int], bottom: int) -> str:
    """Return the path from a label down to a bar, along the bar and down to a child; corners are
    round."""
    x, y = node.x, _y(node, bottom)
    to = _x(child, places)
    end = bottom + 2 if isinstance(child, int) else _y(child, bottom) - _HALF
    if to == x:
        return f"M{x} {y + _HALF}V{end}"
    corner = min(_CORNER, abs(to - x) // 2)
    side = corner if to > x else -corner
    bar = y + _LEVEL // 2
    return (
        f"M{x} {y + _HALF}V{bar - corner}q0 {corner} {side} {corner}H{to - side}"
        f"q{side} 0 {side} {corner}V{end}"
    )


def _label(node: _Bracket, y: int) -> str:
    share, width = node.share, round(node.width)
    room = _SHARE if share else 0
    sure = "" if node.probability is None else f" data-probability='{node.probability:g}'"
    if share:
        share = (
            f"<text x='{node.x + (width - room) // 2 - 3}' y='{y + 4}' class='share'"
            f" font-size='{_TAG}' font-weight='400'>{share}</text>"
        )
    return (
        f"<g class='node' data-words='{node.start} {node.end}'{sure}>"
        f"<rect x='{node.x - width // 2}' y='{y - _HALF}' width='{width}' height='{2 * _HALF}'"
        f" rx='4' fill='none'/><text x='{node.x - room // 2}' y='{y + 4}' class='label'"
        f"{node.opacity(_PALEST_LABEL)}>{escape(node.label)}</text>{share}</g>"
    )


def _x(child: _Bracket | int, places: Sequence[int]) -> int:
    return places[child] if isinstance(child, int) else child.x


def _y(node: _Bracket, bottom: int) -> int:
    return bottom - node.height * _LEVEL + _LEVEL // 2


def _width(text: str, size: float) -> float:
    """Return about how wide a text is, in a font with wide letters."""
    return size * sum(map(_letter, text))


@lru_cache(10_000)
def _letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if unicodedata.combining(letter):
        return 0.0
    if letter in _WIDE or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.78 if letter.isupper() else 0.62
