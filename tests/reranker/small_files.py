"""N-best files for the tests of commands."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def write(path: Path, content: str | bytes) -> str:
    """Write a file; its name as a command takes it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def bllip(*lists: Iterable[str]) -> str:
    """What the Charniak parser prints; candidate i has the base-2 score -100.5 - i."""
    blocks = []
    for number, trees in enumerate(lists):
        scored = [f"{-100.5 - place}\n{tree}\n" for place, tree in enumerate(trees)]
        blocks.append(f"{len(scored)}\t{number}\n{''.join(scored)}\n")
    return "".join(blocks)
