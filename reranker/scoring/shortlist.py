"""The shortlist: the candidates of a sentence that language models judge where only the best few
are wanted. Span models, which read a sentence once for all of its candidates, choose them, by the
rule of ``reranker.ranking.span_limit``: the best few are the same as where everything is scored."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.process.cancellation import Cancellation
from reranker.ranking import SCORE_DECIMALS, Scored, Weighing, span_limit
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble

Batch = Sequence[DistinctCandidates]
Scores = Sequence[Sequence[Scored | None]]
Score = Callable[[Batch, Cancellation, int], Scores]
"""Returns the scores of a batch's candidates, of at least the best few by their mixed scores."""


class Shortlist:
    """The choice of the candidates that an ensemble's language models judge."""

    def __init__(self, ensemble: Ensemble) -> None:
        members = enumerate(ensemble.members)
        spans = [number for number, member in members if isinstance(member, SpanCheckpoint)]
        is_mixed = 0 < len(spans) < len(ensemble.members)
        self._span_models = ensemble.of(spans) if is_mixed else None

    def scores(
        self,
        batch: Batch,
        cancellation: Cancellation,
        score: Score,
        weighing: Weighing,
        top: int,
    ) -> list[list[Scored | None]]:
        """Return the scores of the candidates that can be among the ``top`` best or the two best,
        and of the parser's first, by ``score``; None for others. Raises Stopped if cancelled."""
        top = max(top, 2)
        if self._span_models is None or span_limit([0.0], weighing) == math.inf:
            return list(map(list, score(batch, cancellation, top)))
        kept = self._kept(batch, self._span_models, cancellation, weighing, top)
        short = [sentence.only(places) for sentence, (places, _) in zip(batch, kept, strict=True)]
        # Mixed scores do not know who is on the shortlist: others might take their places.
        others = max((len(places) - is_on for places, is_on in kept), default=0)
        results = []
        for sentence, some, scored in zip(
            batch, short, score(short, cancellation, top + others), strict=True
        ):
            indices = (candidate.index for candidate in some.nbest.candidates)
            by_index = dict(zip(indices, scored, strict=True))
            results.append([by_index.get(each.index) for each in sentence.nbest.candidates])
        return results

    def _kept(
        self,
        batch: Batch,
        span_models: Ensemble,
        cancellation: Cancellation,
        weighing: Weighing,
        top: int,
    ) -> list[tuple[set[int], int]]:
        """Return, for each sentence, the places of the candidates to score, and how many of them
        are on the shortlist."""
        sequences = [tokens for sentence in batch for tokens in sentence.sequences]
        values = iter(span_models.log_probabilities(sequences, cancellation))
        kept = []
        for sentence in batch:
            places = range(len(sentence.sequences))
            nlls = [round(float(-next(values).sum(1).sum()), SCORE_DECIMALS) for _ in places]
            limit = span_limit(nlls, weighing)
            is_on = [place for place in places if nlls[place] <= limit]
            best_first = sorted(places, key=lambda place: (nlls[place], place))
            first = [] if sentence.first is None else [sentence.first]
            kept.append(({*is_on, *best_first[:top], *first}, len(is_on)))
        return kept
