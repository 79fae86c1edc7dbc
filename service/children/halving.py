"""Scoring in ever smaller parts where memory does not suffice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from reranker.errors import lacks_memory
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.scoring import pools
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import WinnerSearch
from reranker.service.children.scoring import Best

Scores = list[Sequence[Scored | None] | None]


def score_in_halves(
    ensemble: Ensemble,
    lists: Sequence[NBest],
    token_scores: bool,
    cancellation: Cancellation | None = None,
    best: Best | None = None,
) -> tuple[Scores, int]:
    """Return the scores of each list, and the number of times that memory did not suffice. In that
    case one half is scored after the other, down to single candidates; the scores of a list are
    None if a candidate does not fit even alone. ``best``: see ``score_together``. Raises Stopped if
    cancelled."""
    halving = _Halving(ensemble, token_scores, cancellation)
    return halving.score(lists, best), halving.count


def score_together(
    ensemble: Ensemble,
    lists: Sequence[NBest],
    token_scores: bool,
    cancellation: Cancellation | None,
    best: Best | None,
) -> list[Sequence[Scored | None]]:
    """Return the scores of each list, computed in as few batches as possible, since all are
    returned at once. If only the ``best`` are wanted, candidates off the shortlist have None.
    Raises Stopped if cancelled."""
    scorer = Scorer(ensemble, token_scores)
    score: Callable[[pools.Batch, Cancellation], list[Any]] = scorer.score
    if best is not None:
        # No stand-ins for outputs: clients would wait until these are made.
        search = WinnerSearch(ensemble, patience_tokens=math.inf)
        score = partial(search.score, scorer=scorer, weighing=best.weighing, top=best.top)
    most = pools.BATCH_TOKENS
    scored = pools.in_order(lists, score, ensemble.lanes, most, cancellation, first_tokens=most)
    return [scores for _, scores in scored]


# Not two functions within one: they would refer to each other, and so keep the models until the
# garbage collection.
@dataclass
class _Halving:
    ensemble: Ensemble
    token_scores: bool
    cancellation: Cancellation | None
    count: int = 0

    def score(self, lists: Sequence[NBest], best: Best | None) -> Scores:
        try:
            return [
                *score_together(self.ensemble, lists, self.token_scores, self.cancellation, best)
            ]
        except (MemoryError, RuntimeError) as error:
            if not lacks_memory(error):
                raise
        # Not in the except clause: the traceback would keep the tensors alive.
        self.count += 1
        if middle := len(lists) // 2:
            return self.score(lists[:middle], best) + self.score(lists[middle:], best)
        return [self._score_halves(lists[0])]

    def _score_halves(self, nbest: NBest) -> Sequence[Scored] | None:
        middle = len(nbest.candidates) // 2
        if not middle:
            return None
        together: list[Scored] = []
        for some in (nbest.candidates[:middle], nbest.candidates[middle:]):
            # The best of a half need not be the list's: all are scored.
            (scores,) = self.score([replace(nbest, candidates=some)], None)
            if scores is None:
                return None
            together += filter(None, scores)
        # A half does not know its duplicates in the other half.
        known = zip(together, DistinctCandidates(nbest).candidates, strict=True)
        return [replace(scored, duplicate_of=original) for scored, (_, original) in known]
