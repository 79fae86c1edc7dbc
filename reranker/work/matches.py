"""The matches of a pattern in a sentence, over all of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reranker.trees.patterns.pattern import Pattern
from reranker.trees.patterns.table import Table, members
from reranker.trees.tree import Tree
from reranker.work.parses import Parses


@dataclass(frozen=True, slots=True)
class Match:
    """A node that matches a pattern. Nodes of several trees that have the same label and words are
    one match."""

    start: int
    """The numbers, from 0, of the node's first word (``start``) and of the word after its last.
    Traces are not counted."""
    end: int
    label: str
    """The node's label; if a word matches, the word."""
    tree: Tree | str
    """The node in the most probable tree that has it."""
    probability: float | None
    """The sum of the probabilities of the trees that have the node; None if these are unknown."""
    named: dict[str, list[Match]] = field(default_factory=dict)
    """For each name in the pattern the nodes for which it stands in this match. The probability of
    each is that of trees which have both it and the match."""


def matches(
    pattern: Pattern,
    parses: Parses,
    tables: Sequence[Table] | None = None,
    *,
    names: bool = False,
) -> list[Match]:
    """Return the matches by place, the longer first; ``tables`` are the trees' tables, if the
    caller has made them; with ``names``, each match has its ``named`` nodes. Raises the errors of
    ``Pattern.matching``."""
    found = _Sums(parses.probabilities is not None)
    named: dict[tuple[_Key, str], _Sums] = {}
    for number, tree in enumerate(parses.trees):
        table = tables[number] if tables else Table(tree)
        probability = parses.probabilities[number] if parses.probabilities else 1.0
        matching = pattern.matching(table)
        found.add(table, matching, probability)
        for name in pattern.names if names and matching else ():
            nodes: dict[_Key, int] = {}  # by match
            for node, those in pattern.standing_for(name, table).items():
                for each in members(those):
                    nodes[_key(table, each)] = nodes.get(_key(table, each), 0) | 1 << node
            for key, set_of_nodes in nodes.items():
                sums = named.setdefault((key, name), _Sums(found.is_probable))
                sums.add(table, set_of_nodes, probability)
    by_match: dict[_Key, dict[str, list[Match]]] = {}
    for (key, name), sums in named.items():
        by_match.setdefault(key, {})[name] = sums.matches({})
    return found.matches(by_match)


_Key = tuple[int, int, str]


def _key(table: Table, node: int) -> _Key:
    return (*table.span(node), table.label(node))


class _Sums:
    """Nodes of several trees, with their probabilities."""

    def __init__(self, is_probable: bool) -> None:
        self.is_probable = is_probable
        self._trees: dict[_Key, Tree | str] = {}
        self._sums: dict[_Key, float] = {}

    def add(self, table: Table, nodes: int, probability: float) -> None:
        """Add nodes of the next tree."""
        keys = set()
        for node in members(nodes):
            key = _key(table, node)
            self._trees.setdefault(key, table.nodes[node])
            keys.add(key)
        for key in keys:
            self._sums[key] = self._sums.get(key, 0.0) + probability

    def matches(self, named: dict[_Key, dict[str, list[Match]]]) -> list[Match]:
        """Return the nodes by place, the longer first."""
        return [
            Match(
                *key,
                tree,
                min(1.0, self._sums[key]) if self.is_probable else None,
                named.get(key, {}),
            )
            for key, tree in sorted(self._trees.items(), key=lambda item: (item[0][0], -item[0][1]))
        ]


@dataclass(frozen=True, slots=True)
class Words:
    """The text of a sentence: as written, if that is known, else its words with spaces between
    them."""

    text: str
    places: Sequence[tuple[int, int]]
    """The half-open span of each word in ``text``, in characters."""
    first: int | None
    """The number of characters before ``text`` in the file; None if that is not known."""

    @classmethod
    def of(cls, parses: Parses) -> Words:
        words = parses.trees[0].words()
        origin = parses.origin
        if origin is not None and len(origin.offsets) == len(words):
            first = origin.offsets[0][0]
            places = [(start - first, end - first) for start, end in origin.offsets]
            return cls(origin.text, places, first)
        places, end = [], -1
        for word in words:
            places.append((end + 1, end + 1 + len(word)))
            end += 1 + len(word)
        return cls(" ".join(words), places, None)

    def cut(self, match: Match) -> tuple[str, str, str]:
        """Return the sentence before the match, the match's words, and the sentence behind the
        match."""
        start, end = self.span(match)
        return self.text[:start], self.text[start:end], self.text[end:]

    def span(self, match: Match) -> tuple[int, int]:
        """Return where the words of the match begin and end in ``text``."""
        if match.start == match.end:  # nothing but traces
            is_last = match.start == len(self.places)
            place = len(self.text) if is_last else self.places[match.start][0]
            return place, place
        return self.places[match.start][0], self.places[match.end - 1][1]
