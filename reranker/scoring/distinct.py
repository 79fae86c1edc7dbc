"""Sentences on their way through scoring: duplicates found, put together into batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reranker.nbest import NBest
from reranker.trees.linearize import is_word


class Sentence:
    """A list with its candidates linearised and the duplicates among them found."""

    def __init__(self, nbest: NBest) -> None:
        self.nbest = nbest
        self.distinct: list[tuple[str, ...]] = []
        self.which: list[int] = []  # per candidate: its place in distinct
        self.first: list[int | None] = []  # per candidate: index of the one it repeats
        seen: dict[tuple[str, ...], tuple[int, int]] = {}
        for candidate in nbest.candidates:
            tokens = candidate.tokens
            place, index = seen.setdefault(tokens, (len(self.distinct), candidate.index))
            if index == candidate.index:
                self.distinct.append(tokens)
            self.which.append(place)
            self.first.append(None if index == candidate.index else index)
        self.words = [token for token in (self.distinct or [()])[0] if is_word(token)]
        """The sentence's words; every candidate has the same."""
        self.longest = max(map(len, self.distinct), default=0)
        self.size = sum(len(tokens) + 1 for tokens in self.distinct)

    @property
    def places(self) -> range:
        """Of the different candidates, in ``distinct``."""
        return range(len(self.distinct))

    @property
    def candidates(self) -> Iterable[tuple[int, int | None]]:
        """For each candidate its place in ``distinct`` and the index of the one it repeats."""
        return zip(self.which, self.first, strict=True)


def batches(sentences: Sequence[Sentence], tokens: int, lanes: int) -> list[list[Sentence]]:
    """Batches of about ``tokens``, as many as keep every lane busy, each of sentences alike in
    length: what is computed together is as wide at its end as at its start."""
    total = sum(one.size for one in sentences)
    count = -(-total // (tokens * lanes)) * lanes
    share = total / max(1, count)
    made: list[list[Sentence]] = []
    room = 0.0
    for sentence in sorted(sentences, key=lambda one: -one.longest):
        if not made or sentence.size / 2 > room:
            made.append([])
            room += share
        made[-1].append(sentence)
        room -= sentence.size
    return made
