"""Many patterns at once: a file of them, and how often each matches in each sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from reranker.errors import InputError
from reranker.files.table import delimited
from reranker.files.text import read_lines
from reranker.plugins.grep.matches import Match, matches
from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.pattern import Pattern, PatternError
from reranker.plugins.grep.table import Table

MOST_PATTERNS = 1_000
_COLUMNS = ("file", "line", "id")


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
        if name in (*_COLUMNS, *patterns):
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


def found_by_each(
    patterns: dict[str, Pattern], parses: Parses, *, names: bool = False
) -> Iterator[tuple[str, list[Match]]]:
    """Yield the matches of each pattern in a sentence; ``names`` as of ``matches``."""
    tables = [Table(tree) for tree in parses.trees]
    for name, pattern in patterns.items():
        yield name, matches(pattern, parses, tables, names=names)


def counts(
    patterns: dict[str, Pattern], is_likely: Callable[[Match], bool], parses: Parses
) -> list[Any]:
    """Return the row of a sentence."""
    found = found_by_each(patterns, parses)
    numbers = [sum(map(is_likely, those)) for _, those in found]
    return [parses.file, parses.line, parses.id, *numbers]


def matrix(names: list[str], rows: Iterator[list[Any]], *, with_commas: bool) -> Iterator[str]:
    """Yield the lines of the table, with tabs or commas between the columns."""
    for row in itertools.chain([[*_COLUMNS, *names]], rows):
        yield delimited([row], with_commas=with_commas)
