"""A word to the user whose every list has one candidate."""

from __future__ import annotations

from reranker.nbest.data import NBest

_LOOKED_AT = 300


class SingleCandidates:
    """Watches lists go by and remembers whether any has two candidates."""

    def __init__(self) -> None:
        self._lists = 0
        self._neighbours = 0
        self._alike = 0
        self._has_choice = False
        self._previous: tuple[str, ...] | None = None

    def add(self, nbest: NBest) -> None:
        """Look at the next list; beyond the first few hundred, only at its length."""
        if len(nbest.candidates) + len(nbest.rejected) > 1:
            self._has_choice = True
        if self._has_choice or not nbest.candidates:
            self._previous = None
            return
        self._lists += 1
        if self._lists > _LOOKED_AT:
            return
        candidate = nbest.candidates[0]
        words = tuple(candidate.words)
        if self._previous is not None:
            self._neighbours += 1
            self._alike += words == self._previous
        self._previous = words

    @property
    def hint(self) -> str | None:
        """None if some list has two candidates, or there are not two lists."""
        if self._has_choice or self._lists < 2:
            return None
        hint = "every list has one candidate"
        # Two candidates a sentence make every other pair of neighbours alike.
        if 3 * self._alike > self._neighbours:
            hint += (
                ", and neighbouring trees share their words: if they are n-best lists, with a "
                "blank line after each, try --format berkeley"
            )
        return hint
