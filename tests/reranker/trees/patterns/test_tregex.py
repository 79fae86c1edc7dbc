"""Patterns find what tregex's own tests say that tregex finds; what differs is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nltk
import pytest

from reranker.trees.patterns.pattern import Pattern, PatternError
from reranker.trees.patterns.table import Table, members
from reranker.trees.tree import Tree

TABLE = tomllib.loads(Path(__file__).with_name("tregex.toml").read_text("utf-8"))


def read(text: str) -> Tree:
    """Return a tree that may have constituents without words, as tregex's own have."""

    def converted(node: nltk.Tree | str) -> Tree | str:
        if isinstance(node, str):
            return node
        return Tree(node.label(), tuple(map(converted, node)))

    tree = converted(nltk.Tree.fromstring(text))
    assert isinstance(tree, Tree)
    return tree


def written(table: Table, nodes: Iterable[int]) -> list[str]:
    """Return different nodes as tregex writes them, words in brackets."""
    texts = (f"({' '.join(_parts(table.nodes[node]))})" for node in nodes)
    return list(dict.fromkeys(texts))


def _parts(node: Tree | str) -> list[str]:
    if isinstance(node, str):
        return [node]
    below = (
        each if isinstance(each, str) else f"({' '.join(_parts(each))})" for each in node.children
    )
    return [node.label, *below]


@pytest.mark.parametrize(
    "case", TABLE["found"], ids=lambda case: case.get("pattern") or case["tree"]
)
def test_the_nodes_are_those_of_tregex(case: dict[str, Any]) -> None:
    """A case has several trees for a pattern, or several patterns for a tree."""
    for first, *expected in case.get("trees") or case["patterns"]:
        text, pattern = case.get("tree", first), case.get("pattern", first)
        table = Table(read(text))
        assert written(table, members(Pattern(pattern).matching(table))) == expected, first


@pytest.mark.parametrize("case", TABLE["named"], ids=lambda case: case["pattern"])
def test_the_named_nodes_are_those_of_tregex(case: dict[str, Any]) -> None:
    pattern, table = Pattern(case["pattern"]), Table(read(case["tree"]))
    matching = list(members(pattern.matching(table)))
    assert len(matching) == len(case["matches"])
    for node, expected in zip(matching, case["matches"], strict=True):
        for name in pattern.names:
            nodes = [
                each
                for each, those in pattern.standing_for(name, table).items()
                if those >> node & 1
            ]
            assert written(table, sorted(nodes)) == expected.get(name, []), name


def test_relations_in_parentheses() -> None:
    (case,) = TABLE["counted"]
    for pattern, *expected in case["counts"]:
        tables = map(Table, map(read, case["trees"]))
        assert [Pattern(pattern).matching(table).bit_count() for table in tables] == expected, (
            pattern
        )


def test_what_is_refused() -> None:
    for pattern in TABLE["refused"]:
        with pytest.raises(PatternError):
            Pattern(pattern)
    for pattern in TABLE["accepted"]:
        Pattern(pattern)
