"""Dialects: the recognition, reading and writing of one kind of n-best files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from reranker.nbest.data import NBest, RawList
from reranker.nbest.lines import NumberedLines
from reranker.nbest.notation import Notation, may_be_tree
from reranker.nbest.own_notation import LABELLED_CLOSER, own_notation


class Head:
    """The first lines of a file, prepared for recognisers."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.all = lines
        self.lines = [line.strip() for line in lines if line.strip()]
        """The lines that are not blank, without surrounding space."""
        self.first = self.lines[0] if self.lines else ""

    @cached_property
    def is_linearized(self) -> bool:
        """Return whether most lines have closing brackets with labels."""
        return _are_linearized(self.lines)

    @cached_property
    def trees_are_linearized(self) -> bool:
        """Return whether most lines that begin a tree have closing brackets with labels."""
        return _are_linearized([line for line in self.lines if line.startswith(("(", "<s>"))])

    @cached_property
    def has_tree(self) -> bool:
        """Return whether a line can be a tree in brackets; a remark like ``(laughs)`` cannot."""
        return any(line[0] == "(" and may_be_tree(line) for line in self.lines)


def _are_linearized(texts: Sequence[str]) -> bool:
    """Return whether most texts have closing brackets with labels: ``(S (NP XX )NP )S``."""
    return 2 * sum(bool(LABELLED_CLOSER.search(text)) for text in texts) > len(texts)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way of writing n-best lists."""

    name: str
    description: str  # one line for users
    recognise: Callable[[Head], bool]
    """Tell whether a file with this head has this dialect, and none before it in the registry."""
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
    needs_beam: bool = False  # the user must give the number of lines of a list
    looks_for_blank_line: bool = False
    """True if the head must reach the first blank line, since blank lines may end lists."""

    def shown_notation(self, head: Iterable[str]) -> Notation:
        """Return the notation that most candidates in a file's head show, to be displayed: it
        decides the notation of no candidate."""
        if self.notation is not None:
            return self.notation
        shown = Counter(filter(None, map(own_notation, self.candidate_texts(head))))
        return shown.most_common(1)[0][0] if shown else Notation.BRACKETS
