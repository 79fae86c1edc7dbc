"""Many patterns from a file, and the number of matches of each in each sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reranker.errors import InputError
from reranker.files.text import read_lines
from reranker.trees.patterns.pattern import Pattern, PatternError
from reranker.trees.patterns.table import Table
from reranker.work.loop import Identity
from reranker.work.matches import Match, matches
from reranker.work.parses import Parses
from reranker.work.tree_files import TreeJob

MOST_PATTERNS = 1_000
PLACE = ("file", "line", "id")
"""The first columns of a table about sentences."""


def read_patterns(file: str) -> dict[str, Pattern]:
    """Return the patterns of a file by name: ``name<TAB>pattern`` on each line, or a pattern alone,
    which is its own name; lines that begin with # are remarks.

    Raises InputError, naming file and line.
    """
    patterns: dict[str, Pattern] = {}
    for number, line in enumerate(read_lines(file), 1):
        text = line.strip()
        if not text or text[0] == "#":
            continue
        name, _, pattern = map(str.strip, text.partition("\t"))
        if name in (*PLACE, *patterns):
            raise InputError(f"{file}:{number}: a second column {name!r}")
        if len(patterns) == MOST_PATTERNS:
            raise InputError(f"{file}:{number}: more than {MOST_PATTERNS:,} patterns")
        try:
            patterns[name] = Pattern(pattern or name)
        except PatternError as error:
            raise InputError(f"{file}:{number}: {error}") from error
    if not patterns:
        raise InputError(f"{file}: no patterns")
    return patterns


class Found(NamedTuple):
    """A sentence, and the matches of each pattern."""

    parses: Parses
    matches: list[tuple[str, list[Match]]]


class Search(TreeJob[Found]):
    """The job of matching patterns."""

    def __init__(
        self, patterns: Mapping[str, Pattern], settings: Identity, *, has_names: bool = True
    ) -> None:
        """Take patterns by name. ``settings`` are the flags on which the output depends; with
        ``has_names``, matches have ``named`` nodes."""
        self._patterns, self._settings, self._has_names = patterns, settings, has_names

    def identity(self) -> Identity:
        return self._settings

    def read(self, parses: Parses) -> Found:
        """Match the patterns. Raises the errors of ``Pattern.matching``."""
        tables = [Table(tree) for tree in parses.trees]
        found = (
            (name, matches(pattern, parses, tables, names=self._has_names))
            for name, pattern in self._patterns.items()
        )
        return Found(parses, [*found])
