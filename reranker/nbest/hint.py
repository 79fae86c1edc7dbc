"""What to tell a user whose every list has one candidate."""

from __future__ import annotations

from reranker.nbest.data import NBest

HINT_LISTS = 300


class SingleCandidates:
    """Looks at the first ``HINT_LISTS`` lists as they go by."""

    def __init__(self) -> None:
        self._lists = 0
        self._has_choice = False
        self._neighbours = 0
        self._alike = 0
        self._previous: list[str] = []

    def add(self, nbest: NBest) -> None:
        """Look at the next list."""
        if self._has_choice or self._lists == HINT_LISTS:
            return
        self._lists += 1
        self._has_choice = len(nbest.candidates) + len(nbest.rejected) > 1
        words = nbest.candidates[0].words if nbest.candidates else []
        if words and self._previous:
            self._neighbours += 1
            self._alike += words == self._previous
        self._previous = words

    @property
    def hint(self) -> str | None:
        """None if a list has two candidates, or if there are not two lists."""
        if self._has_choice or self._lists < 2:
            return None
        lists = (
            "every list" if self._lists < HINT_LISTS else f"each of the first {HINT_LISTS} lists"
        )
        # Two candidates a sentence make every other pair of neighbours alike.
        if 3 * self._alike <= self._neighbours:
            return f"{lists} has one candidate"
        return (
            f"{lists} has one candidate, and neighbouring trees share their words: if they are "
            "n-best lists, with a blank line after each, try --format berkeley"
        )
