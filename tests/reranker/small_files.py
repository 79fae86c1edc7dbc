"""N-best files for the tests of commands."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reranker.errors import InputError
from reranker.files.records import AnswerCounts
from reranker.work.sinks import TextSink


def write(path: Path, content: str | bytes) -> str:
    """Write a file; its name as a command takes it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@contextlib.contextmanager
def standard_input(content: str | bytes) -> Iterator[None]:
    """Replace the standard input of this process, for commands that run in it, by a file."""
    with tempfile.TemporaryFile() as file:
        file.write(content if isinstance(content, bytes) else content.encode())
        file.seek(0)
        with _reading_from(file.fileno()):
            yield


@contextlib.contextmanager
def piped_input(content: str) -> Iterator[None]:
    """Replace it by a pipe, which has room for 64 KB."""
    read_end, write_end = os.pipe()
    with open(read_end) as pipe:
        with open(write_end, "w") as other_end:
            other_end.write(content)
        with _reading_from(pipe.fileno()):
            yield


@contextlib.contextmanager
def _reading_from(file: int) -> Iterator[None]:
    before = os.dup(0)
    os.dup2(file, 0)
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


def break_off_after(
    sentences: int,
    patch: pytest.MonkeyPatch,
    error: BaseException | None = None,
) -> None:
    """Let a command fail once this number of answers is written."""
    write, given = TextSink.write, itertools.count(1)

    def break_off(sink: TextSink[Any], answer: Any, counts: AnswerCounts, digest: str) -> None:
        if next(given) > sentences:
            raise error or InputError("unusable from here")
        write(sink, answer, counts, digest)

    patch.setattr(TextSink, "write", break_off)
