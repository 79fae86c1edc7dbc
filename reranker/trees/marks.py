"""A tree with marks at its brackets, as drawings need it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple

from reranker.languages import JOINERS, is_right_to_left
from reranker.trees.constituents import brackets
from reranker.trees.node import Node

LEGEND = "* changed, ✓ right, ✗ wrong"


class Mark(NamedTuple):
    """A mark at a bracket. ``is_right`` is None without a gold tree, and for brackets that EVALB
    does not count."""

    is_changed: bool
    is_right: bool | None


@dataclass(frozen=True, slots=True)
class MarkedTree:
    """A tree and, by ``id(node)``, the marks of its brackets; parts of speech have none."""

    tree: Node
    marks: dict[int, Mark] = field(default_factory=dict)

    def label(self, node: Node) -> str:
        """Return the label with its marks: ``*NP✗`` is changed and wrong."""
        mark = self.marks.get(id(node))
        if mark is None:
            return printable(node.label)
        right = {None: "", True: "✓", False: "✗"}[mark.is_right]
        return f"{'*' if mark.is_changed else ''}{printable(node.label)}{right}"

    @property
    def is_right_to_left(self) -> bool:
        """Return whether the sentence is written from right to left."""
        return is_right_to_left(self.tree.leaves())

    def changed(self) -> list[tuple[Mark, str, str]]:
        """Return mark, label and words of each changed bracket, parents first."""
        words = [printable(word) for word in self.tree.leaves()]
        return [
            (self.marks[id(node)], printable(node.label), " ".join(words[start:end]))
            for node, start, end in brackets(self.tree)
            if self.marks[id(node)].is_changed
        ]


class Place(NamedTuple):
    """A constituent or word in a tree."""

    node: Node | str
    depth: int
    parent: int  # in the list of places; -1 for the root


def places(tree: Node) -> list[Place]:
    """Return constituents and words, parents before children, left to right."""
    in_order: list[Place] = []
    stack = [Place(tree, 0, -1)]
    while stack:
        place = stack.pop()
        in_order.append(place)
        if not isinstance(place.node, str):
            parent = len(in_order) - 1
            children = reversed(place.node.children)
            stack.extend(Place(child, place.depth + 1, parent) for child in children)
    return in_order


def printable(text: str) -> str:
    """Replace the characters of ``text`` that could control a terminal or break XML."""
    return "".join(
        character if character.isprintable() or character in JOINERS else "\ufffd"
        for character in text
    )


def display_width(text: str) -> int:
    """Return the width in terminal columns: 2 for a wide character, 0 for a combining one or a
    joiner."""
    widths = {"W": 2, "F": 2}
    return sum(
        widths.get(unicodedata.east_asian_width(character), 1)
        for character in text
        if not unicodedata.combining(character) and character not in JOINERS
    )
