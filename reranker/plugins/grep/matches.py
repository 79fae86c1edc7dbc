"""The matches of a pattern in a sentence, over all of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.pattern import Pattern
from reranker.plugins.grep.table import Table, members
from reranker.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Match:
    """A node that matches: in several trees it is the same if label and words are."""

    start: int
    """Its first word, counted from 0, and the one behind its last; traces are no words."""
    end: int
    label: str
    """A word itself, if that matches."""
    tree: Tree | str
    """Of the most probable tree that has the match."""
    probability: float | None
    """The sum over the trees that have it; None if it is not known how probable trees are."""


def matches(pattern: Pattern, parses: Parses) -> list[Match]:
    """Return the matches by place, the longer first. Raises the errors of ``Pattern.matching``."""
    found: dict[tuple[int, int, str], Tree | str] = {}
    sums: dict[tuple[int, int, str], float] = {}
    for tree, probability in zip(
        parses.trees, parses.probabilities or (1.0,), strict=parses.probabilities is not None
    ):
        table = Table(tree)
        keys: set[tuple[int, int, str]] = set()
        for node in members(pattern.matching(table)):
            key = (*table.span(node), table.label(node))
            found.setdefault(key, table.nodes[node])
            keys.add(key)
        for key in keys:
            sums[key] = sums.get(key, 0.0) + probability
    return [
        Match(*key, tree, None if parses.probabilities is None else min(1.0, sums[key]))
        for key, tree in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1]))
    ]


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence as it is written, if that is known, else its words with spaces between."""

    text: str
    places: Sequence[tuple[int, int]]
    """Of each word, in ``text``."""
    first: int | None
    """Characters of the file before ``text``."""

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
