"""N-best files for the tests of commands."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from reranker.commands import answers
from reranker.errors import InputError
from reranker.outputs.registry import format_ranking
from reranker.ranking import Ranking


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


def break_off_after(sentences: int, patch: pytest.MonkeyPatch) -> None:
    """Let `rerank` find its input unusable once so many answers are formatted."""
    given = 0

    def break_off(ranking: Ranking, output: str) -> str:
        nonlocal given
        given += 1
        if given > sentences:
            raise InputError("unusable from here")
        return format_ranking(ranking, output)

    patch.setattr(answers, "format_ranking", break_off)
