"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]], ruler: Sequence[str] = ()) -> str:
    """A table; ``ruler`` aligns its columns (``---:`` flush right)."""
    lines = [heads, ruler or ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
