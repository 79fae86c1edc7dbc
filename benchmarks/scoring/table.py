"""Tables of text, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Columns lined up, the first to the left and the others to the right."""
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rendered = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *rendered, *self.notes])

    def markdown(self) -> str:
        ruler = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [f"| {' | '.join(line)} |" for line in (self.header, ruler, *self.rows)]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"**{self.title}**\n", *lines, *notes])


def put_between_markers(page: str, name: str, tables: str) -> str:
    """``page`` with ``tables`` between its lines ``<!-- begin name -->`` and ``<!-- end name -->``,
    in place of what was there; raises ValueError if it has no such lines."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    head, found, rest = page.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"no lines {begin.strip()} and {end}")
    return f"{head}{begin}{tables}\n{end}{tail}"
