"""The scores of every candidate of a batch, computed in the simple way; ``winner`` computes only
the scores of the best few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.perplexity import perplexity
from reranker.process.cancellation import Cancellation
from reranker.ranking import TOKEN_SCORE_DECIMALS, Scored, repeating
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble, Values


class Scorer:
    """The conversion of an ensemble's token log-probabilities into ``Scored``."""

    def __init__(self, ensemble: Ensemble, token_scores: bool) -> None:
        self.ensemble = ensemble
        self._token_scores = token_scores
        averaged = ensemble.combination == "average"
        members = ensemble.members[:1] if averaged else ensemble.members
        self._language_models = np.array([isinstance(each, Checkpoint) for each in members])

    def score(
        self, batch: Sequence[DistinctCandidates], cancellation: Cancellation
    ) -> list[list[Scored]]:
        """Return the scores of each sentence's candidates. Raises Stopped if cancelled."""
        sequences = [tokens for sentence in batch for tokens in sentence.sequences]
        values = iter(self.ensemble.log_probabilities(sequences, cancellation))
        results = []
        for sentence in batch:
            scored = self.scored(sentence, range(len(sentence.sequences)), values)
            results.append([repeating(scored[p], original) for p, original in sentence.candidates])
        return results

    def scored(
        self, sentence: DistinctCandidates, places: Iterable[int], values: Iterable[Values]
    ) -> dict[int, Scored]:
        """Return the scores of the sequences at these places of the sentence, each from the next of
        ``values``."""
        unknown = self.ensemble.unknown(sentence.words)
        return {
            place: self._scored(sentence, place, tokens, unknown)
            for place, tokens in zip(places, values, strict=False)
        }

    def _scored(
        self, sentence: DistinctCandidates, place: int, values: Values, unknown_words: int
    ) -> Scored:
        """Return the scores from the values [M, T] of one sequence's tokens."""
        by_member = -values.sum(1)
        members, tokens = values.shape
        are_models = self._language_models
        models = int(are_models.sum())
        models_nll = float(by_member[are_models].sum())
        by_token = None
        if self._token_scores:
            rounded: list[float | None] = [None] * tokens
            if models:
                rounded = values[are_models].sum(0).round(TOKEN_SCORE_DECIMALS).tolist()
            by_token = tuple(zip((*sentence.sequences[place], EOS), rounded, strict=True))
        words = max(1, len(sentence.words))
        return Scored(
            nll=float(by_member.sum()),
            perplexity=perplexity(models_nll, models * words) if models else None,
            token_perplexity=perplexity(models_nll, models * tokens) if models else None,
            span_nll=None if models == members else float(by_member[~are_models].sum()),
            tokens=tokens,
            unknown_words=unknown_words,
            duplicate_of=None,
            token_scores=by_token,
            member_nll=tuple(by_member.tolist()) if members > 1 else (),
        )
