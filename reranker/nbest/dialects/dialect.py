"""Dialects: the reading and writing of one kind of n-best files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from reranker.nbest.data import NBest, RawList
from reranker.nbest.lines import NumberedLines
from reranker.nbest.notation import Notation


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way of writing n-best lists."""

    read: Callable[[NumberedLines], Iterator[RawList]]
    write: Callable[[NBest, int], str]
    """Return the text of a list at a position counted from 0, line breaks included."""
    notation: Notation | None = Notation.BRACKETS
    """The notation of candidates, or None if it is found for each."""
    candidate_texts: Callable[[Iterable[str]], Iterable[str]] = lambda head: filter(str.strip, head)
    """Return the candidates in a file's head, for ``notation`` None; by default, every line."""
    layout: Callable[[Sequence[str], int | None], str] | None = None
    """Describe in words how lines form lists, from the head and the beam; None if lists are always
    formed alike."""
    looks_for_blank_line: bool = False
    """True if the head must reach the first blank line, since blank lines may end lists."""
