"""Rejection of anything but text: files of another kind, trees or n-best lists."""

from __future__ import annotations

from collections.abc import Iterator

from reranker.errors import KindError
from reranker.files.kinds import LONGEST_START, Start, kind_of
from reranker.files.text import TextFile
from reranker.nbest.dialects.registry import recognise_by_a_line


def other_than_text(text: str, is_first: bool = True) -> str | None:
    """Return the kind of file that a text's beginning, or later part, looks like, with a remedy;
    None if it may be text."""
    text = text[:LONGEST_START]
    start = Start(text, is_first)
    is_list = is_first and recognise_by_a_line(start.text.splitlines(keepends=True))
    kind = None if is_list else kind_of(text, is_first)
    if kind:
        return kind.described("text")
    if is_list or start.has_trees:
        return "trees; to rank them, rerank --nbest FILE"
    return None


def refuse_other_than_text(name: str, text: str) -> None:
    """Raise KindError if a file with this beginning is not text."""
    if kind := other_than_text(text):
        raise KindError(f"{name}: not text: looks like {kind}")


def checked(file: TextFile, pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces of a text. Raises KindError, naming the line, once a part anywhere in the
    text is not text."""
    part: list[str] = []
    size = line = 0
    start = 1
    for piece in pieces:
        yield piece
        part.append(piece)
        size += len(piece)
        line += piece.endswith("\n")
        if size >= LONGEST_START:
            _check(file.name, start, part)
            # Keep half: the end of the file alone would be too little to judge by.
            part = part[len(part) // 2 :]
            size = sum(map(len, part))
            start = line - sum(each.endswith("\n") for each in part) + 1
    _check(file.name, start, part)


def _check(name: str, line: int, part: list[str]) -> None:
    if line == 1:
        refuse_other_than_text(name, "".join(part))
    elif kind := other_than_text("".join(part), is_first=False):
        raise KindError(f"{name}:{line}: not text from here on: looks like {kind}")
