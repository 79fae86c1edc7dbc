"""Finds the best few by a cascade (``reranker.cascade``): faster than ``winner``, but not
certain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reranker.cascade import Cascade, expected
from reranker.errors import InputError
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored, Weighing, repeating
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble, Values
from reranker.scoring.pools import BATCH_TOKENS
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import FEWEST, place_scores

# Of one sequence: the log-probabilities of its tokens [T] under the members that have scored it.
_Known = dict[int, Values]


class CascadeSearch:
    """The search for the best few under one ensemble."""

    batch_tokens = BATCH_TOKENS

    def __init__(self, ensemble: Ensemble, cascade: Cascade) -> None:
        """Raises InputError unless the cascade is for the sum of these members."""
        self._members = len(ensemble.members)
        if ensemble.combination != "sum" or sum(map(len, cascade.stages)) != self._members:
            raise InputError("the cascade was not made for the sum of these models")
        self._cascade = cascade
        self._parts = [ensemble.of(stage) for stage in cascade.stages]

    def score(
        self,
        batch: Sequence[DistinctCandidates],
        cancellation: Cancellation,
        scorer: Scorer,
        weighing: Weighing,
        top: int,
    ) -> list[list[Scored | None]]:
        """The scores, as ``Scorer.score`` returns them, of the candidates that survive to the end,
        which are the ``top`` best of each sentence except for what the cascade misses; None for
        others. Raises Stopped if cancelled."""
        known: dict[DistinctCandidates, dict[int, _Known]] = {
            sentence: {place: {} for place in range(len(sentence.sequences))} for sentence in batch
        }
        margins = (*self._cascade.margins, math.inf)
        for stage, part, margin in zip(self._cascade.stages, self._parts, margins, strict=True):
            sequences = [
                sentence.sequences[place] for sentence, places in known.items() for place in places
            ]
            values = iter(part.log_probabilities(sequences, cancellation))
            for sentence, places in known.items():
                for by_member in places.values():
                    by_member.update(zip(stage, next(values), strict=True))
                if len(places) >= max(FEWEST, 2 * top) and margin < math.inf:
                    for place in self._hopeless(sentence, places, weighing, top, margin):
                        del places[place]
        return [self._scored(sentence, known[sentence], scorer) for sentence in batch]

    def _hopeless(
        self,
        sentence: DistinctCandidates,
        places: dict[int, _Known],
        weighing: Weighing,
        top: int,
        margin: float,
    ) -> list[int]:
        """The places whose expected scores are too far below the best few."""

        def hoped(place: int) -> Scored | None:
            by_member = places.get(place)
            if by_member is None:
                return None
            sums = {member: -float(values.sum()) for member, values in by_member.items()}
            nll = expected(sums, self._members)
            tokens = len(sentence.sequences[place]) + 1
            return Scored(math.fsum(nll), math.nan, tokens, 0, None, member_nll=nll)

        scores = place_scores(sentence, hoped, weighing)
        bar = sorted(scores.values(), reverse=True)[:top][-1] - margin if scores else 0.0
        return [place for place in places if scores.get(place, -math.inf) < bar]

    def _scored(
        self, sentence: DistinctCandidates, places: dict[int, _Known], scorer: Scorer
    ) -> list[Scored | None]:
        values = (
            np.stack([by_member[member] for member in range(self._members)])
            for by_member in places.values()
        )
        scored = scorer.scored(sentence, places, values)
        return [
            repeating(scored[place], original) if place in scored else None
            for place, original in sentence.candidates
        ]
