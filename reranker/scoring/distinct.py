"""A list's candidates for scoring: linearised, without duplicates."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from reranker.nbest import NBest
from reranker.trees.linearize import is_word


class DistinctCandidates:
    """The distinct candidates of a list; candidates that differ only in part-of-speech tags are
    one."""

    def __init__(self, nbest: NBest) -> None:
        self.nbest = nbest
        self.sequences: list[tuple[str, ...]] = []
        """The tokens of each distinct candidate, in the parser's order."""
        self._places: list[int] = []  # of each candidate, in sequences
        self._originals = nbest.duplicates()
        places: dict[int, int] = {}
        for candidate, original in zip(nbest.candidates, self._originals, strict=True):
            if original is None:
                places[candidate.index] = len(self.sequences)
                self.sequences.append(candidate.tokens)
            self._places.append(places[candidate.index if original is None else original])
        self.words = [token for token in (self.sequences or [()])[0] if is_word(token)]
        """The sentence's words; every candidate has the same."""
        self.longest = max(map(len, self.sequences), default=0)
        self.size = sum(len(tokens) + 1 for tokens in self.sequences)
        """The number of tokens, including an ``<eos>`` for each sequence."""

    @property
    def first(self) -> int | None:
        """Return the place of the parser's first candidate; None if it was rejected."""
        has_first = self._places and self.nbest.candidates[0].index == 0
        return self._places[0] if has_first else None

    @property
    def candidates(self) -> Iterable[tuple[int, int | None]]:
        """Return, for each candidate, its place in ``sequences`` and the index of the candidate
        that it repeats."""
        return zip(self._places, self._originals, strict=True)

    def only(self, places: Collection[int]) -> DistinctCandidates:
        """Return the sentence with the candidates at these places alone."""
        kept = (
            candidate
            for candidate, place in zip(self.nbest.candidates, self._places, strict=True)
            if place in places
        )
        return DistinctCandidates(replace(self.nbest, candidates=tuple(kept)))
