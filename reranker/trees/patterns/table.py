"""A tree as tables: its nodes are numbers, and sets of nodes the bits of an integer."""

from __future__ import annotations

from collections.abc import Iterator

from reranker.trees.tree import Tree


class Table:
    """The nodes of a tree in preorder, words among them: those below a node follow it at once."""

    def __init__(self, tree: Tree) -> None:
        nodes: list[Tree | str] = []
        parent: list[int] = []
        children: list[list[int]] = []
        places: dict[str, int] = {}
        words_before: list[int] = []
        words = leaves = 0
        is_trace = False  # whether the last constituent is one: then its word comes next
        stack: list[tuple[Tree | str, int]] = [(tree, -1)]
        while stack:
            node, above = stack.pop()
            number = len(nodes)
            nodes.append(node)
            parent.append(above)
            children.append([])
            words_before.append(words)
            if above >= 0:
                children[above].append(number)
            if isinstance(node, str):
                label = node
                leaves |= 1 << number
                words += not is_trace
                is_trace = False
            else:
                label, is_trace = node.label, node.is_trace
                stack += [(child, number) for child in reversed(node.children)]
            places[label] = places.get(label, 0) | 1 << number
        words_before.append(words)
        self.nodes = nodes
        self.parent = parent
        """Of the root -1."""
        self.children = children
        self.places = places
        """The set of nodes with each label or word."""
        self.words_before = words_before
        """Words to the left of each node, traces not counted; at the end, all words."""
        self.leaves = leaves
        """The set of all words."""
        self.everything = (1 << len(nodes)) - 1
        end = list(range(1, len(nodes) + 1))
        for number in range(len(nodes) - 1, 0, -1):
            end[parent[number]] = max(end[parent[number]], end[number])
        self.end = end
        """The first node behind those below each."""
        self.known: dict[object, int] = {}
        """The set of nodes that match each part of a pattern."""
        self.chosen: dict[str, int | None] = {}
        """The node that each name in a pattern stands for; None for no node."""
        self.texts: dict[str, str] = {}
        """The text of each variable of a pattern's regular expressions."""
        self.heads: dict[int, int] = {}
        """The head of each node whose head is known."""
        self._above: list[int] | None = None
        self._children_sets: list[int] | None = None

    def is_leaf(self, node: int) -> bool:
        """Return whether a node is a word."""
        return isinstance(self.nodes[node], str)

    def children_of(self, node: int) -> int:
        """Return the set of a node's children."""
        if self._children_sets is None:
            self._children_sets = [sum(1 << each for each in row) for row in self.children]
        return self._children_sets[node]

    def below(self, node: int) -> int:
        """Return the set of all nodes below a node."""
        return (1 << self.end[node]) - (2 << node)

    def above(self, node: int) -> int:
        """Return the set of all nodes above a node."""
        if self._above is None:
            self._above = [0]
            for each in self.parent[1:]:
                self._above.append(self._above[each] | 1 << each)
        return self._above[node]

    def span(self, node: int) -> tuple[int, int]:
        """Return the words below a node: the number of the first, and of the one behind the
        last."""
        return self.words_before[node], self.words_before[self.end[node]]

    def label(self, node: int) -> str:
        """Return the label, or the word."""
        each = self.nodes[node]
        return each if isinstance(each, str) else each.label


def members(nodes: int) -> Iterator[int]:
    """Yield the numbers in a set, in ascending order."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest
