"""Markdown tables, and places in a page that are rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from reranker.errors import InputError


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]], ruler: Sequence[str] = ()) -> str:
    """A table; ``ruler`` aligns its columns (``---:`` flush right)."""
    lines = [heads, ruler or ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page_with(path: Path, name: str, text: str) -> str:
    """The page with ``text`` between ``<!-- name -->`` and ``<!-- end of name -->``.

    Raises InputError if it cannot be read, or has no such place.
    """
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    try:
        page = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read: {reason}") from error
    place = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not place.search(page):
        raise InputError(f"{path} has no place for the table: {start} {end}")
    return place.sub(lambda _: f"{start}\n{text}{end}", page)
