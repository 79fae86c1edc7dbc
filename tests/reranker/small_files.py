"""N-best files for the tests of commands."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
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


@contextlib.contextmanager
def standard_input(content: str | bytes) -> Iterator[None]:
    """Replace the standard input of this process, for commands that run in it."""
    with tempfile.TemporaryFile() as file:
        file.write(content if isinstance(content, bytes) else content.encode())
        file.seek(0)
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


def bllip(*lists: Iterable[str]) -> str:
    """Return the Charniak parser's output; candidate i has the base-2 score -100.5 - i."""
    blocks = []
    for number, trees in enumerate(lists):
        scored = [f"{-100.5 - place}\n{tree}\n" for place, tree in enumerate(trees)]
        blocks.append(f"{len(scored)}\t{number}\n{''.join(scored)}\n")
    return "".join(blocks)


def break_off_after(sentences: int, patch: pytest.MonkeyPatch) -> None:
    """Let `rerank` find its input unusable once so many answers are formatted."""
    given = 0

    def break_off(ranking: Ranking, output: str, *place: int, **form: bool) -> str:
        nonlocal given
        given += 1
        if given > sentences:
            raise InputError("unusable from here")
        return format_ranking(ranking, output, *place, **form)

    patch.setattr(answers, "format_ranking", break_off)
