"""Which nodes of a tree match a pattern.

A pattern without names is computed as sets, each part of it once for the whole tree, so that no
pattern takes long. Names make parts depend on each other; those are tried out node by node, within
a limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from reranker.errors import TreeError
from reranker.search.pattern import (
    All,
    Condition,
    Description,
    Not,
    Pattern,
    Related,
    Some,
)
from reranker.search.table import Table, members

MAX_STEPS = 200_000
"""Nodes tried for one tree and a pattern with names: a second or so."""

Names = dict[str, int]


def matching(pattern: Pattern, table: Table) -> int:
    """The set of nodes that match. Raises TreeError (``too-long``) if a pattern with names needs
    more than ``MAX_STEPS``, InputError if a regular expression takes too long."""
    known = table.known.get(pattern)
    if known is not None:
        return known
    nodes = _described(pattern.description, table)
    if pattern.has_names:
        trial = _Trial(table)
        nodes = sum(1 << node for node in members(nodes) if trial.succeeds(pattern, node))
    elif pattern.condition is not None:
        nodes = _fulfilling(pattern.condition, nodes, table)
    table.known[pattern] = nodes
    return nodes


def _described(description: Description, table: Table) -> int:
    """The set of nodes with one of the labels; of a reference, every node."""
    nodes = 0
    if description.reference is not None:
        return table.everything
    for label in description.labels:
        nodes |= table.places.get(label, 0)
    for accepts in description.tests:
        for label, places in table.places.items():
            if accepts(label):
                nodes |= places
    return table.everything & ~nodes if description.is_negated else nodes


def _fulfilling(condition: Condition, nodes: int, table: Table) -> int:
    """Those of the nodes that fulfil a condition without names."""
    if not nodes:
        return 0
    if isinstance(condition, Related):
        wanted = matching(condition.pattern, table)
        targets = condition.targets
        if not wanted:
            return 0
        return sum(1 << node for node in members(nodes) if targets(table, node) & wanted)
    if isinstance(condition, Not):
        return nodes & ~_fulfilling(condition.condition, nodes, table)
    if isinstance(condition, All):
        for each in condition.conditions:
            nodes = _fulfilling(each, nodes, table)
        return nodes
    fulfilling = 0
    for each in condition.conditions:
        fulfilling |= _fulfilling(each, nodes & ~fulfilling, table)
    return fulfilling


class _Trial:
    """Tries out which nodes the names can stand for."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._steps = 0

    def succeeds(self, pattern: Pattern, node: int) -> bool:
        """Whether a node of the pattern's description fulfils its condition."""
        return any(True for _ in self._ways(pattern, node, {}))

    def _ways(self, pattern: Pattern, node: int, names: Names) -> Iterator[Names]:
        """What names stand for, each way in which that node matches."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TreeError("too-long", "there are too many ways to give the pattern's names")
        if pattern.description.name is not None:
            names = {**names, pattern.description.name: node}
        if pattern.condition is None:
            yield names
        else:
            yield from self._fulfilled(pattern.condition, node, names)

    def _fulfilled(self, condition: Condition, node: int, names: Names) -> Iterator[Names]:
        if isinstance(condition, Not):
            if not any(True for _ in self._fulfilled(condition.condition, node, names)):
                yield names
        elif isinstance(condition, Some):
            for each in condition.conditions:
                yield from self._fulfilled(each, node, names)
        elif isinstance(condition, All):
            yield from self._all(condition.conditions, node, names)
        else:
            pattern = condition.pattern
            targets = condition.targets(self._table, node)
            if not pattern.has_names:
                if targets & matching(pattern, self._table):
                    yield names
                return
            for target in members(targets & self._described(pattern.description, names)):
                yield from self._ways(pattern, target, names)

    def _all(self, conditions: tuple[Condition, ...], node: int, names: Names) -> Iterator[Names]:
        first, *others = conditions
        for named in self._fulfilled(first, node, names):
            if others:
                yield from self._all(tuple(others), node, named)
            else:
                yield named

    def _described(self, description: Description, names: Names) -> int:
        if description.reference is None:
            return _described(description, self._table)
        if description.reference not in names:
            return 0
        node = 1 << names[description.reference]
        return self._table.everything & ~node if description.is_negated else node
