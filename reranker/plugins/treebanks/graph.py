"""Trees of words and constituents that name their parents, where constituents may be discontinuous:
the common part of the NEGRA export format and TigerXML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.files.visible import counted
from reranker.nbest.words import escaped
from reranker.plugins.treebanks.pieces import broken
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS, ROOT_LABELS, WHITE_SPACE, Tree
from reranker.trees.treebank import TreePiece

NONE = "--"
MOST_ROWS = 4 * MAX_WORDS
_MOST_MOVES = 2_000_000  # of words from constituent to constituent: seconds
VROOT = "VROOT"
_ROOT = ""  # a node without another parent belongs to it
_LABEL = str.maketrans({"(": "*LRB*", ")": "*RRB*"})  # $( as in NEGRA's own trees in brackets


class Row(NamedTuple):
    """A word or a constituent."""

    label: str
    edge: str  # its function
    parent: str
    word: str | None = None


class _Part(NamedTuple):
    """A finished child of a constituent: a half-open range of words."""

    start: int
    end: int
    is_head: bool
    tree: Tree | str


class Graphs:
    """The sentences of a file, of which discontinuous ones are counted."""

    def __init__(self) -> None:
        self.trees = self.discontinuous = self.empty = 0

    def piece(
        self, line: int, end: int, words: Sequence[Row], nodes: Mapping[str, Row]
    ) -> TreePiece:
        """Return the sentence as a piece."""
        try:
            tree, is_discontinuous, empty = _tree(words, nodes)
            text = Tree.from_string(tree.to_string()).to_string()
        except TreeError as error:
            return broken(line, end, error.code, str(error))
        self.trees += 1
        self.discontinuous += is_discontinuous
        self.empty += empty
        return TreePiece(line, end, text)

    def report(self, file: str, say: Callable[[str], None]) -> None:
        """Say how many trees were changed."""
        if self.discontinuous:
            say(
                f"{file}: {self.discontinuous} of {self.trees} trees have discontinuous "
                "constituents; parts apart from the head were attached higher"
            )
        if self.empty:
            say(f"{file}: {counted(self.empty, 'constituent')} without words left out")


def _tree(words: Sequence[Row], nodes: Mapping[str, Row]) -> tuple[Tree, bool, int]:
    """Return the tree, whether some constituents were discontinuous, and the number of constituents
    without words, which are left out.

    Punctuation at the root goes to the lowest constituent around it. Of any other discontinuous
    constituent the part with its head stays, or the longest part without any; the others go to the
    constituent above, as often as needed.
    """
    if not words:
        raise TreeError("empty", "the sentence has no words")
    if len(words) > MAX_WORDS:
        raise TreeError("too-long", f"{len(words)} words, more than {MAX_WORDS}")
    depths = _depths(nodes)
    if len(words) * max(depths.values()) > _MOST_MOVES:
        raise TreeError(
            "too-deep", f"{len(words)} words in up to {max(depths.values())} constituents"
        )
    parts: dict[str, list[_Part]] = {name: [] for name in (*nodes, _ROOT)}
    for place, (row, parent) in enumerate(zip(words, _lowered(words, nodes), strict=True)):
        word = escaped(_symbol(row.word or ""))
        leaf = word if row.label == NONE else Tree(_symbol(row.label).translate(_LABEL), (word,))
        parts[parent].append(_Part(place, place + 1, row.edge == "HD", leaf))
    is_discontinuous, empty = False, 0
    for name in sorted(nodes, key=lambda each: -depths[each]):
        row = nodes[name]
        if not parts[name]:
            empty += 1
            continue
        kept, *others = _blocks(parts[name])
        is_discontinuous = is_discontinuous or bool(others)
        label = row.label if row.edge in ("", NONE) else f"{row.label}-{row.edge}"
        tree = Tree(_symbol(label).translate(_LABEL), tuple(each.tree for each in kept))
        part = _Part(kept[0].start, kept[-1].end, row.edge == "HD", tree)
        parts[row.parent] += [part, *(each for other in others for each in other)]
    top = [each.tree for each in sorted(parts[_ROOT])]
    if len(top) == 1 and isinstance(top[0], Tree) and not top[0].is_preterminal:
        if top[0].label in ROOT_LABELS:
            return top[0], is_discontinuous, empty
        if top[0].label == VROOT:
            top = list(top[0].children)
    return Tree("TOP", tuple(top)), is_discontinuous, empty


def parts(roots: Sequence[Tree | str]) -> tuple[list[Row], list[Row]]:
    """Return the words and the constituents below these nodes, constituents before those in them;
    their parents are places among the constituents. Raises TreeError for a constituent without
    words or without a label, and for a tag that means none."""
    words: list[Row] = []
    nodes: list[Row] = []
    stack: list[tuple[Tree | str, str]] = [(each, _ROOT) for each in reversed(roots)]
    while stack:
        node, parent = stack.pop()
        if isinstance(node, str):
            words.append(Row(NONE, NONE, parent, node))
        elif not node.label:
            raise TreeError("not-a-tree", "a bracket without a label")
        elif node.is_preterminal:
            if node.label == NONE:
                raise TreeError("not-a-tree", f"the tag {NONE} means no tag in this format")
            words.append(Row(node.label, NONE, parent, str(node.children[0])))
        elif not node.children:
            raise TreeError("not-a-tree", f"{node.label}: a constituent without words")
        else:
            stack += [(child, str(len(nodes))) for child in reversed(node.children)]
            label, _, edge = node.label.partition("-")
            if not label or edge in ("", NONE):
                label, edge = node.label, NONE
            nodes.append(Row(label, edge, parent))
    return words, nodes


def _depths(nodes: Mapping[str, Row]) -> dict[str, int]:
    """Return how many constituents are above each, itself included. Raises TreeError for one
    within itself."""
    depths = {_ROOT: 0}
    for name in nodes:
        chain: dict[str, None] = {}
        while name not in depths:
            if name in chain:
                raise TreeError("not-a-tree", f"constituent {name:.60} is within itself")
            chain[name] = None
            name = _parent(nodes[name], nodes)
        for each in reversed(chain):
            depths[each] = depths[nodes[each].parent] + 1
    if max(depths.values()) > MAX_DEPTH:
        raise TreeError("too-deep", f"more than {MAX_DEPTH} constituents within each other")
    return depths


def _parent(row: Row, nodes: Mapping[str, Row]) -> str:
    if row.parent != _ROOT and row.parent not in nodes:
        raise TreeError("not-a-tree", f"a parent that does not exist: {row.parent:.60}")
    return row.parent


def _lowered(words: Sequence[Row], nodes: Mapping[str, Row]) -> list[str]:
    """Return the parents of the words, of those at the root the constituent around them."""
    parents = [_parent(row, nodes) for row in words]
    inside = [place for place, parent in enumerate(parents) if parent != _ROOT]
    for left, right in pairwise(inside):
        if right > left + 1:
            above = dict.fromkeys(_above(parents[left], nodes))
            common = next((each for each in _above(parents[right], nodes) if each in above), _ROOT)
            parents[left + 1 : right] = [common] * (right - left - 1)
    return parents


def _above(name: str, nodes: Mapping[str, Row]) -> list[str]:
    found = []
    while name != _ROOT:
        found.append(name)
        name = nodes[name].parent
    return found


def _blocks(parts: list[_Part]) -> list[list[_Part]]:
    """Return the parts in continuous blocks; the one to keep comes first."""
    blocks: list[list[_Part]] = []
    for part in sorted(parts, key=lambda each: each.start):
        if blocks and blocks[-1][-1].end == part.start:
            blocks[-1].append(part)
        else:
            blocks.append([part])
    with_head = (block for block in blocks if any(each.is_head for each in block))
    kept = next(with_head, max(blocks, key=lambda block: block[-1].end - block[0].start))
    return [kept, *(block for block in blocks if block is not kept)]


def _symbol(text: str) -> str:
    if not text or any(letter in WHITE_SPACE for letter in text):
        raise TreeError("not-a-tree", f"{text!r:.60} can be no word or label")
    return text
