"""The functions that a pattern is made of: sets of nodes, and conditions that they fulfil."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from reranker.errors import InputError
from reranker.trees.patterns.relations import Nodes, Targets
from reranker.trees.patterns.table import Table, members

REGEX_SECONDS = 0.5
"""For one label or word."""
_REMEMBERED = 65_536  # answers of a regular expression

Condition = Callable[[Table, int], int]
"""Returns the nodes of a set that fulfil the condition."""
Accepts = Callable[[str], bool]
Search: TypeAlias = "Callable[[str], re.Match[str] | None]"


class Group(NamedTuple):
    """A group of a regular expression whose text is a variable: ``#1%x``."""

    number: int
    variable: str


def labelled(label: str) -> Nodes:
    """Return the nodes with a label."""
    return lambda table: table.places.get(label, 0)


def accepted(accepts: Accepts) -> Nodes:
    """Return the nodes whose label is accepted."""

    def nodes(table: Table) -> int:
        found = 0
        for label, places in table.places.items():
            if accepts(label):
                found |= places
        return found

    return nodes


def with_texts(search: Search, groups: Sequence[Group]) -> Nodes:
    """Return the nodes in whose label the groups have the texts of their variables."""

    def accepts(label: str, table: Table) -> bool:
        match = search(label)
        return match is not None and all(
            table.texts.get(variable, text) == text
            for number, variable in groups
            for text in (match[number] or "",)
        )

    return lambda table: accepted(lambda label: accepts(label, table))(table)


def texts(search: Search, number: int) -> Callable[[Table], set[str]]:
    """Return the texts of a group in the labels of a tree."""
    return lambda table: {match[number] or "" for match in map(search, table.places) if match}


def linked(name: str) -> Nodes:
    """Return the nodes with the label of the node of this name."""

    def nodes(table: Table) -> int:
        chosen = table.chosen.get(name)
        return 0 if chosen is None else table.places[table.label(chosen)]

    return nodes


def either(alternatives: Sequence[Nodes]) -> Nodes:
    """Return the nodes in any of the sets."""

    def nodes(table: Table) -> int:
        found = 0
        for each in alternatives:
            found |= each(table)
        return found

    return alternatives[0] if len(alternatives) == 1 else nodes


def others(nodes: Nodes) -> Nodes:
    """Return all other nodes."""
    return lambda table: table.everything & ~nodes(table)


def fulfilling(nodes: Nodes, condition: Condition) -> Nodes:
    """Return the nodes of the set that fulfil the condition."""

    def fulfilling(table: Table) -> int:
        if fulfilling not in table.known:
            table.known[fulfilling] = condition(table, nodes(table))
        return table.known[fulfilling]

    return fulfilling


def everything(table: Table, node: int) -> int:
    """Return all nodes: the targets of no relation."""
    return table.everything


def related(targets: Targets, others: Nodes) -> Condition:
    """Return the condition that a node has this relation to one of the others."""

    def related(table: Table, nodes: int) -> int:
        wanted = others(table) if nodes else 0
        if not wanted:
            return 0
        return sum(1 << node for node in members(nodes) if targets(table, node) & wanted)

    return related


def optional(condition: Condition, names: set[str]) -> Condition:
    """Return a condition that always holds, unless one of the ``names`` in it stands for a node."""

    def optional(table: Table, nodes: int) -> int:
        return condition(table, nodes) if _used(table, names) else nodes

    return optional


def both(first: Condition, second: Condition) -> Condition:
    """Return the condition that both hold."""
    return lambda table, nodes: second(table, first(table, nodes))


def any_of(conditions: Sequence[Condition], names: Sequence[set[str]]) -> Condition:
    """Return the condition that one of them holds: one with the ``names`` in it that stand for a
    node."""
    every_name = set[str]().union(*names)

    def fulfilling(table: Table, nodes: int) -> int:
        found, used = 0, _used(table, every_name)
        for condition, own in zip(conditions, names, strict=True):
            if used <= own:
                found |= condition(table, nodes & ~found)
        return found

    return conditions[0] if len(conditions) == 1 else fulfilling


def within(nodes: Nodes) -> Condition:
    """Return the condition that a node is one of these."""
    return lambda table, those: those & nodes(table)


def _used(table: Table, names: set[str]) -> set[str]:
    """Return the names that stand for a node."""
    return {name for name in names if table.chosen.get(name) is not None}


def searching(expression: str, ignores_case: bool) -> tuple[Search, int]:
    """Return a search for a regular expression in a label, and its number of groups. Raises
    ValueError."""
    from nltk import redos  # bounded in time and size; loading nltk takes a second

    try:
        searched = redos.compile(expression, re.IGNORECASE if ignores_case else 0)
    except redos.error as error:
        raise ValueError(error) from error

    @lru_cache(_REMEMBERED)
    def search(label: str) -> re.Match[str] | None:
        try:
            match: re.Match[str] | None = searched.search(label, timeout=REGEX_SECONDS)
        except TimeoutError:
            raise InputError(
                f"pattern: /{expression}/ takes more than {REGEX_SECONDS} s for {label[:60]!r}"
            ) from None
        return match

    return search, searched.groups
