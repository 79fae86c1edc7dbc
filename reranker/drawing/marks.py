"""Which brackets of a tree another tree does not have, and which are right against gold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from reranker.evaluation.parameters import Parameters
from reranker.trees.linearize import FUNCTION_TAG
from reranker.trees.tree import ROOT_LABELS, Tree

LEGEND = "* changed, ✓ right, ✗ wrong"


class Bracket(NamedTuple):
    """A constituent and the half-open span of its words."""

    node: Tree
    start: int
    end: int


class Mark(NamedTuple):
    """``is_right`` is None without a gold tree, and for brackets that EVALB does not count."""

    is_changed: bool
    is_right: bool | None


@dataclass(frozen=True, slots=True)
class MarkedTree:
    """A tree and, by ``id(node)``, the marks of its brackets; parts of speech have none."""

    tree: Tree
    marks: dict[int, Mark] = field(default_factory=dict)

    @classmethod
    def compare(
        cls, tree: Tree, other: Tree | None, gold: Tree | None, parameters: Parameters
    ) -> MarkedTree:
        """Mark brackets that ``other`` lacks as changed, and those in ``gold`` as right, counted as
        EVALB counts: of two equal brackets the second is right only if gold has two."""
        in_other = _matched(_plain_keys(tree), None if other is None else _plain_keys(other))
        gold_keys = None if gold is None else _evalb_keys(gold, parameters)
        in_gold = _matched(_evalb_keys(tree, parameters), gold_keys)
        nodes = [bracket.node for bracket in brackets(tree)]
        return cls(
            tree,
            {
                id(node): Mark(kept is False, is_right)
                for node, kept, is_right in zip(nodes, in_other, in_gold, strict=True)
            },
        )

    def label(self, node: Tree) -> str:
        """The label with its marks: ``*NP✗`` is changed and wrong."""
        mark = self.marks.get(id(node))
        if mark is None:
            return printable(node.label)
        right = {None: "", True: "✓", False: "✗"}[mark.is_right]
        return f"{'*' if mark.is_changed else ''}{printable(node.label)}{right}"

    def changed(self) -> list[tuple[Mark, str, str]]:
        """Mark, label and words of each changed bracket, parents first."""
        words = [printable(word) for word in self.tree.leaves()]
        return [
            (self.marks[id(node)], printable(node.label), " ".join(words[start:end]))
            for node, start, end in brackets(self.tree)
            if self.marks[id(node)].is_changed
        ]


def brackets(tree: Tree) -> list[Bracket]:
    """Every constituent that is not a part of speech, parents first."""
    constituents: list[Bracket] = []
    words = 0
    stack: list[Tree | str | int] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, int):  # the end of that bracket
            constituents[node] = constituents[node]._replace(end=words)
        elif isinstance(node, str) or node.is_preterminal:
            words += 1
        else:
            stack.append(len(constituents))
            constituents.append(Bracket(node, words, words))
            stack.extend(reversed(node.children))
    return constituents


class Place(NamedTuple):
    """A constituent or word in a tree."""

    node: Tree | str
    depth: int
    parent: int  # in the list of places; -1 for the root


def places(tree: Tree) -> list[Place]:
    """Constituents and words, parents before children, left to right."""
    in_order: list[Place] = []
    stack = [Place(tree, 0, -1)]
    while stack:
        place = stack.pop()
        in_order.append(place)
        if isinstance(place.node, Tree):
            parent = len(in_order) - 1
            children = reversed(place.node.children)
            stack.extend(Place(child, place.depth + 1, parent) for child in children)
    return in_order


def printable(text: str) -> str:
    """``text`` with characters that could control a terminal, or break XML, replaced."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


_Key = tuple[int, int, str] | None  # None: a bracket that does not count


def _plain_keys(tree: Tree) -> list[_Key]:
    """Span and label of each bracket; roots and function tags make no difference."""
    return [
        (start, end, FUNCTION_TAG.sub("", node.label))
        if node is not tree or node.label not in ROOT_LABELS
        else None
        for node, start, end in brackets(tree)
    ]


def _evalb_keys(tree: Tree, parameters: Parameters) -> list[_Key]:
    """The same as EVALB counts them: without the words and labels that it deletes."""
    kept = (tag not in parameters.delete_labels for tag in _tags(tree))
    place = list(accumulate(kept, initial=0))  # among the kept words, by place among all
    keys: list[_Key] = []
    for node, start, end in brackets(tree):
        label = parameters.bracket_label(node.label)
        is_root = node is tree and node.label in ROOT_LABELS
        counts = label is not None and not is_root and place[start] < place[end]
        keys.append((place[start], place[end], label or "") if counts else None)
    return keys


def _tags(tree: Tree) -> list[str]:
    """A tag for each word, empty for words that have none."""
    tags: list[str] = []
    for node in tree.preorder():
        if node.is_preterminal:
            tags.append(node.label)
    return tags if len(tags) == len(tree.leaves()) else [""] * len(tree.leaves())


def _matched(keys: list[_Key], others: list[_Key] | None) -> list[bool | None]:
    """For each key whether ``others`` have it, as often; None for keys that do not count, and for
    all without ``others``."""
    left = Counter(others)
    matched: list[bool | None] = []
    for key in keys:
        counts = key is not None and others is not None
        matched.append(left[key] > 0 if counts else None)
        left[key] -= 1
    return matched
