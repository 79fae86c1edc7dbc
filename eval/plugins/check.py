"""Planted errors that `rerank check` finds, among the most suspicious twentieth of the brackets.

    python eval/plugins/check.py masc/dev.mrg wsj/dev.mrg
    python eval/plugins/check.py gum/dev.mrg --errors 1250

Each sentence gets at most one error: a label changed, a bracket moved by one child, removed or
added, or a phrase attached higher or lower. An error is found if one of its places is among the
first, as many as 5% of all brackets. Beside it: orders by variation alone, and a random one.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from reranker.files.table import aligned
from reranker.plugins.checking.evidence import Evidence, Expected
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.suspicion import Place, places
from reranker.process.flags import positive, reporting_errors
from reranker.trees.constituents import brackets
from reranker.trees.linearize import cleaned, linearize
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

KINDS = ("label", "moved", "removed", "added", "attached")
ATTACHED = ("ADVP", "PP", "S", "SBAR")
Span = tuple[int, int]
Planted = dict[int, tuple[str, set[Span]]]
"""By the number of the sentence: the kind of error, and the spans whose brackets are others."""


class Node:
    """A constituent that can be changed."""

    def __init__(self, tree: Tree, parent: Node | None = None) -> None:
        self.label, self.parent = tree.label, parent
        self.children: list[Node | Tree] = [
            child if child.is_preterminal else Node(child, self)
            for child in tree.children
            if isinstance(child, Tree)
        ]

    def below(self) -> Iterator[Node]:
        """Yield the constituents below, parents first."""
        for child in self.children:
            if isinstance(child, Node):
                yield child
                yield from child.below()

    def tree(self) -> Tree:
        children = (each.tree() if isinstance(each, Node) else each for each in self.children)
        return Tree(self.label, tuple(children))


class _Remembered(Evidence):
    """A span model that reads each sentence once: errors are planted in trees, not in words."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._known: dict[tuple[tuple[str, ...], ...], Expected] = {}

    def of(self, words: tuple[str, ...], tags: tuple[str, ...]) -> Expected:
        if (words, tags) not in self._known:
            self._known[words, tags] = super().of(words, tags)
        return self._known[words, tags]


@reporting_errors("check")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("gold", nargs="+", help="files of gold trees")
    parser.add_argument("--errors", type=positive, default=500, help="(default: %(default)s)")
    parser.add_argument("--at-once", type=positive, help="of them (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parser-model", default="", help="a span model (default: the installed)")
    arguments = parser.parse_args()
    trees = [*map(cleaned, read_treebank(arguments.gold))]
    evidence = _Remembered(arguments.parser_model)
    found: dict[str, Counter[str]] = {name: Counter() for name in ORDERS}
    planted = Counter[str]()
    at_once = arguments.at_once or arguments.errors
    for number in range(arguments.errors // at_once):
        rng = random.Random(arguments.seed + number)
        changed, errors = with_errors(trees, at_once, rng)
        planted.update(kind for kind, _ in errors.values())
        for name, kinds in first_found(changed, errors, evidence, rng).items():
            found[name].update(kinds)
    rows: list[tuple[str, ...]] = [("found, %", *KINDS, "all")]
    for name, counts in found.items():
        shares = [100 * counts[kind] / max(1, planted[kind]) for kind in KINDS]
        shares.append(100 * counts.total() / max(1, planted.total()))
        rows.append((name, *(f"{share:.1f}" for share in shares)))
    print(aligned(rows))
    return 0


ORDERS = ("suspicion", "variation alone", "without context", "random")


def first_found(
    trees: Sequence[Tree], errors: Planted, evidence: Evidence, rng: random.Random
) -> dict[str, list[str]]:
    """Return by order the kinds of the errors that are among the first 5%."""
    index, bare = Index(), Index(context=0)
    for take in (index.add, bare.add, index.count, bare.count):
        for tree in trees:
            take(linearize(tree))
    values: dict[str, list[tuple[float, float, int, Place]]] = {name: [] for name in ORDERS}
    for number, tree in enumerate(trees):
        words = tree.words()
        for place in places(tree, evidence, index)[0] if len(brackets(tree)) > 1 else ():
            without = bare.elsewhere(words, place.start, place.end, place.gold)
            shares = [
                others / max(1, all_of_them)
                for others, all_of_them in ((place.others, place.occurrences), without)
            ]
            for name, value in zip(ORDERS, (place.suspicion, *shares, 0.0), strict=True):
                values[name].append((value, rng.random(), number, place))
    count = sum(len(brackets(tree)) - 1 for tree in trees) // 20
    found = {}
    for name, each in values.items():
        hit = {
            number
            for _, _, number, place in heapq.nlargest(
                count, each, key=lambda entry: (entry[0], entry[1])
            )
            if number in errors and (place.start, place.end) in errors[number][1]
        }
        found[name] = [errors[number][0] for number in sorted(hit)]
    return found


def with_errors(
    trees: Sequence[Tree], count: int, rng: random.Random
) -> tuple[list[Tree], Planted]:
    """Return the trees with errors, as many of each kind, and the errors."""
    labels = [node.label for tree in trees for node, _, _ in brackets(tree)[1:]]
    wanted = [KINDS[number % len(KINDS)] for number in range(count)]
    changed, errors = [*trees], Planted()
    order = [number for number, tree in enumerate(trees) if len(tree.leaves()) > 3]
    rng.shuffle(order)
    for number in order:
        for kind in dict.fromkeys(wanted):
            root = Node(trees[number])
            if plant(root, kind, labels, rng) and (spans := difference(trees[number], root.tree())):
                changed[number], errors[number] = root.tree(), (kind, spans)
                wanted.remove(kind)
                break
    return changed, errors


def difference(one: Tree, other: Tree) -> set[Span]:
    """Return the spans whose brackets differ."""
    both = [
        Counter((start, end, node.label) for node, start, end in brackets(tree)[1:])
        for tree in (one, other)
    ]
    return {(start, end) for start, end, _ in (both[0] - both[1]) + (both[1] - both[0])}


def plant(root: Node, kind: str, labels: Sequence[str], rng: random.Random) -> bool:
    """Make an error at a random constituent where it is possible; tell whether there was one."""
    nodes = [*root.below()]
    rng.shuffle(nodes)
    return any(_PLANT[kind](node, labels, rng) for node in nodes)


def _label(node: Node, labels: Sequence[str], rng: random.Random) -> bool:
    before, node.label = node.label, rng.choice(labels)
    return node.label != before


def _removed(node: Node, labels: Sequence[str], rng: random.Random) -> bool:
    siblings, place = _around(node)
    siblings[place : place + 1] = node.children
    return True


def _added(node: Node, labels: Sequence[str], rng: random.Random) -> bool:
    """Put a bracket around some of the children, at least two but not all."""
    count = len(node.children)
    ranges = [(i, j) for i in range(count) for j in range(i + 2, count + 1) if j - i < count]
    if not ranges:
        return False
    start, end = rng.choice(ranges)
    new = Node(Tree(rng.choice(labels), ()), node)
    new.children, node.children[start:end] = node.children[start:end], [new]
    return True


def _moved(node: Node, labels: Sequence[str], rng: random.Random) -> bool:
    """Take in the child beside the constituent, or put out its first or last."""
    siblings, place = _around(node)
    ways: list[Callable[[], None]] = []
    if place + 1 < len(siblings):
        ways.append(lambda: node.children.append(siblings.pop(place + 1)))
    if place:
        ways.append(lambda: node.children.insert(0, siblings.pop(place - 1)))
    if len(node.children) > 1:
        ways.append(lambda: siblings.insert(place + 1, node.children.pop()))
        ways.append(lambda: siblings.insert(place, node.children.pop(0)))
    if ways:
        rng.choice(ways)()
    return bool(ways)


def _attached(node: Node, labels: Sequence[str], rng: random.Random) -> bool:
    """Move a last child beside its parent, or a child into the constituent before it."""
    siblings, place = _around(node)
    if node.label not in ATTACHED or not place:
        return False
    before, parent = siblings[place - 1], node.parent
    ways: list[Callable[[], None]] = []
    if place == len(siblings) - 1 and parent is not None and parent.parent is not None:
        higher, above = _around(parent)
        ways.append(lambda: higher.insert(above + 1, siblings.pop()))
    if isinstance(before, Node) and len(siblings) > 2:
        ways.append(lambda: before.children.append(siblings.pop(place)))
    if ways:
        rng.choice(ways)()
    return bool(ways)


def _around(node: Node) -> tuple[list[Node | Tree], int]:
    """Return the children among which a constituent is, and its place."""
    assert node.parent is not None
    siblings = node.parent.children
    return siblings, next(place for place, each in enumerate(siblings) if each is node)


_PLANT = {
    "label": _label,
    "moved": _moved,
    "removed": _removed,
    "added": _added,
    "attached": _attached,
}

if __name__ == "__main__":
    sys.exit(main())
