"""Scoring in ever smaller parts where memory does not suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reranker.errors import lacks_memory
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.scoring.distinct import DistinctCandidates

if TYPE_CHECKING:
    from reranker import Reranker
    from reranker.scoring.lanes import Lanes

Scores = list[list[Scored] | None]


def score_in_halves(
    reranker: Reranker,
    lists: Sequence[NBest],
    token_scores: bool,
    cancellation: Cancellation | None = None,
    lanes: Lanes | None = None,
) -> tuple[Scores, int]:
    """Return the scores of each list, and how often memory did not suffice; then one half is scored
    after the other, down to single candidates. A list with a candidate that does not fit even alone
    has None. ``lanes``: see ``Reranker.score_lists``. Raises Stopped if cancelled."""
    halving = _Halving(reranker, token_scores, cancellation, lanes)
    return halving.score(lists), halving.count


# Not two functions within one: they would refer to each other, and so keep the models until the
# garbage collection.
@dataclass
class _Halving:
    reranker: Reranker
    token_scores: bool
    cancellation: Cancellation | None
    lanes: Lanes | None
    count: int = 0

    def score(self, lists: Sequence[NBest]) -> Scores:
        try:
            scored = self.reranker.score_lists(
                lists,
                token_scores=self.token_scores,
                cancellation=self.cancellation,
                lanes=self.lanes,
            )
            return [scores for _, scores in scored]
        except (MemoryError, RuntimeError) as error:
            if not lacks_memory(error):
                raise
        # Not in the except clause: the traceback would keep the tensors alive.
        self.count += 1
        if middle := len(lists) // 2:
            return self.score(lists[:middle]) + self.score(lists[middle:])
        return [self._score_halves(lists[0])]

    def _score_halves(self, nbest: NBest) -> list[Scored] | None:
        middle = len(nbest.candidates) // 2
        if not middle:
            return None
        (left,) = self.score([replace(nbest, candidates=nbest.candidates[:middle])])
        (right,) = self.score([replace(nbest, candidates=nbest.candidates[middle:])])
        if left is None or right is None:
            return None
        # A half cannot know what it repeats of the other.
        together = zip(left + right, DistinctCandidates(nbest).candidates, strict=True)
        return [replace(scored, duplicate_of=original) for scored, (_, original) in together]
