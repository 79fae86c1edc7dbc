"""Which candidates are worth an exact score when only the best few are asked for.

Bounds cost less than scores: no candidate can be better than its optimistic score. Those that look
best are scored exactly; what cannot reach them even optimistically is out, and the rest is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reranker.ranking import Scored, Weighing, mixed_score
from reranker.scoring.distinct import Sentence

# Lists with fewer different candidates are scored as a whole: bounds would not pay.
FEWEST = 8

# Bounds and scores are float32 sums, right to a tenth of this (docs/performance.md); nats.
_ROUNDING = 1e-3


class Contest:
    """The different candidates of one sentence, of which the ``top`` best are wanted."""

    def __init__(
        self, sentence: Sentence, bounds: Sequence[Scored], weighing: Weighing, top: int
    ) -> None:
        """``bounds`` are optimistic scores, one for each of ``sentence.distinct``."""
        self._sentence, self._weighing, self._top = sentence, weighing, top
        self._optimistic = self._scores(bounds.__getitem__)
        best_first = sorted(self._optimistic, key=lambda place: -self._optimistic[place])
        self.favourites: list[int] = best_first[:top]
        """Places in ``distinct`` to be scored first."""

    def rivals(self, exact: dict[int, Scored]) -> list[int]:
        """Other places that may yet be among the best, given the favourites' scores."""
        reached = sorted(self._scores(exact.get).values(), reverse=True)
        if len(reached) < self._top:
            return []
        bar = reached[self._top - 1] - _ROUNDING
        return [
            place
            for place, score in self._optimistic.items()
            if score >= bar and place not in exact
        ]

    def _scores(self, scored: Callable[[int], Scored | None]) -> dict[int, float]:
        """The score of the candidates at each place, as ``rank`` has it; none if none counts."""
        sentence = self._sentence
        scores: dict[int, float] = {}
        settled: set[int | None] = set()
        for candidate, (place, first) in zip(
            sentence.nbest.candidates, sentence.candidates, strict=True
        ):
            mine = scored(place)
            score = None if mine is None else mixed_score(candidate, mine, self._weighing)
            if score is None or first in settled:
                continue
            if first is None:  # what repeats it takes its score
                settled.add(candidate.index)
            scores[place] = max(score, scores.get(place, score))
        return scores
