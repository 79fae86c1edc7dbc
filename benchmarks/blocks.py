"""A BLLIP file's lists as they stand there."""

from __future__ import annotations

from reranker.files.text import read_lines


def bllip_blocks(path: str, count: int | None = None) -> list[str]:
    """The first ``count`` lists, each without the blank line behind it."""
    return [block for block in "".join(read_lines(path)).split("\n\n") if block][:count]
