"""The relations between two nodes, by the signs of tgrep2 and tregex."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reranker.trees.patterns.heads import head
from reranker.trees.patterns.table import Table, members

Nodes = Callable[[Table], int]
"""A set of nodes of a tree."""
Targets = Callable[[Table, int], int]
"""The set of all B for which ``A relation B`` holds, given A."""
Step = Callable[[Table, int], int]
"""To a child, or to -1 if there is none."""


def nth_child(number: int, goes_down: bool) -> Targets:
    """Return the child of that number, from 1, from -1 for the last; or the node of which this one
    is."""
    return _down(_nth(number)) if goes_down else _up(_nth(number))


def nth_leaf(number: int, goes_down: bool) -> Targets:
    """Return the word of that number below a node; or the nodes below which this is that word."""

    def down(table: Table, node: int) -> int:
        leaves = [each for each in range(node, table.end[node]) if table.is_leaf(each)]
        place = number - 1 if number > 0 else len(leaves) + number
        return 1 << leaves[place] if table.children[node] and 0 <= place < len(leaves) else 0

    def up(table: Table, node: int) -> int:
        above = members(table.above(node)) if table.is_leaf(node) else ()
        return sum(1 << each for each in above if down(table, each) == 1 << node)

    return down if goes_down else up


def with_children(count: int) -> Callable[[Table, int], int]:
    """Return the condition that a node has this number of children."""
    return lambda table, nodes: sum(
        1 << node for node in members(nodes) if len(table.children[node]) == count
    )


def through(nodes: Nodes, sign: str) -> Targets:
    """Return all nodes to which a chain of the relation leads, with none but these nodes
    between."""
    step, goes_left = RELATIONS[sign], sign in (">", ",")

    def targets(table: Table, node: int) -> int:
        if (targets, node) not in table.known:  # for all nodes at once, each after its neighbours
            between, numbers = nodes(table), range(len(table.nodes))
            for each in numbers if goes_left else reversed(numbers):
                found = step(table, each)
                for other in members(found & between):
                    found |= table.known[targets, other]
                table.known[targets, each] = found
        return table.known[targets, node]

    return targets


def _down(step: Step) -> Targets:
    return lambda table, node: 1 << child if (child := step(table, node)) >= 0 else 0


def _up(step: Step) -> Targets:
    def targets(table: Table, node: int) -> int:
        parent = table.parent[node]
        return 1 << parent if parent >= 0 and step(table, parent) == node else 0

    return targets


def _all_down(step: Step) -> Targets:
    def targets(table: Table, node: int) -> int:
        found = 0
        while (node := step(table, node)) >= 0:
            found |= 1 << node
        return found

    return targets


def _all_up(step: Step) -> Targets:
    def targets(table: Table, node: int) -> int:
        found, parent = 0, table.parent[node]
        while parent >= 0 and step(table, parent) == node:
            found |= 1 << parent
            node, parent = parent, table.parent[parent]
        return found

    return targets


def _nth(number: int) -> Step:
    def step(table: Table, node: int) -> int:
        children = table.children[node]
        place = number - 1 if number > 0 else len(children) + number
        return children[place] if 0 <= place < len(children) else -1

    return step


_first, _last = _nth(1), _nth(-1)


def _only(table: Table, node: int) -> int:
    children = table.children[node]
    return children[0] if len(children) == 1 else -1


def _head(table: Table, node: int) -> int:
    if node not in table.heads:
        children = table.children[node]
        labels = [table.label(child) for child in children]
        table.heads[node] = children[head(table.label(node), labels)] if children else -1
    return table.heads[node]


def _after(table: Table, node: int) -> int:
    return table.everything & -(1 << table.end[node])


def _before(table: Table, node: int) -> int:
    return ((1 << node) - 1) & ~table.above(node)


def _next(table: Table, node: int) -> int:
    """Return the nodes that begin where this one ends."""
    following = table.end[node]
    if following == len(table.nodes):
        return 0
    return 1 << following | _leftmost(table, following)


def _previous(table: Table, node: int) -> int:
    """Return the nodes that end where this one begins."""
    while node > 0 and not _earlier_sisters(table, node):
        node = table.parent[node]
    if node <= 0:
        return 0
    sister = _earlier_sisters(table, node).bit_length() - 1
    return 1 << sister | _rightmost(table, sister)


def _sisters(table: Table, node: int) -> int:
    parent = table.parent[node]
    return table.children_of(parent) & ~(1 << node) if parent >= 0 else 0


def _later_sisters(table: Table, node: int) -> int:
    return _sisters(table, node) & -(1 << node)


def _earlier_sisters(table: Table, node: int) -> int:
    return _sisters(table, node) & ((1 << node) - 1)


def _next_sister(table: Table, node: int) -> int:
    later = _later_sisters(table, node)
    return later & -later


def _previous_sister(table: Table, node: int) -> int:
    earlier = _earlier_sisters(table, node)
    return 1 << earlier.bit_length() - 1 if earlier else 0


_leftmost, _rightmost = _all_down(_first), _all_down(_last)


def _pairs() -> Iterator[tuple[str, Targets]]:
    yield "<", Table.children_of
    yield ">", lambda table, node: 1 << parent if (parent := table.parent[node]) >= 0 else 0
    yield "<<", Table.below
    yield ">>", Table.above
    # tgrep2 writes ' for "last", tregex - or `.
    yield "<=", lambda table, node: table.children_of(node) | 1 << node
    yield "<<<", lambda table, node: table.below(node) & table.leaves
    yield ">>>", lambda table, node: table.above(node) if table.is_leaf(node) else 0
    steps = {",": _first, "-": _last, "'": _last, "`": _last, ":": _only, "#": _head}
    for sign, step in steps.items():
        yield "<" + sign, _down(step)
        yield ">" + sign, _up(step)
        yield "<<" + sign, _all_down(step)
        yield ">>" + sign, _all_up(step)
    yield ".", _next
    yield "..", _after
    yield ",", _previous
    yield ",,", _before
    for sister in "$%":
        yield sister, _sisters
        for later, earlier in ((".", ","), ("+", "-")):
            yield sister + later, _next_sister
            yield sister + 2 * later, _later_sisters
            yield sister + earlier, _previous_sister
            yield sister + 2 * earlier, _earlier_sisters
    yield "==", lambda table, node: 1 << node


RELATIONS: dict[str, Targets] = dict(_pairs())
