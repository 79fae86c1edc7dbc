"""What an ensemble says of each candidate of each sentence: of all, or of those that may win."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reranker.checkpoints.vocabulary import EOS
from reranker.ranking import TOKEN_SCORE_DECIMALS, Criterion, Scored, Weighing, perplexity
from reranker.scoring.distinct import Sentence
from reranker.scoring.ensemble import Ensemble, Values
from reranker.scoring.lanes import Call
from reranker.scoring.winner import FEWEST, Contest

# Some of a sentence's different candidates, by their places in Sentence.distinct.
Wanted = Mapping[Sentence, Iterable[int]]
Found = dict[Sentence, dict[int, Scored]]


class Judge:
    """Turns an ensemble's token log-probabilities into ``Scored``."""

    def __init__(self, ensemble: Ensemble, criterion: Criterion, token_scores: bool) -> None:
        self._ensemble = ensemble
        self._criterion: Criterion = criterion
        self._token_scores = token_scores

    def all(self, batch: Sequence[Sentence], call: Call) -> list[list[Scored]]:
        """The scores of each sentence's candidates."""
        found = self._exact({one: one.places for one in batch}, call)
        return [
            [_repeating(found[one][place], first) for place, first in one.candidates]
            for one in batch
        ]

    def best(
        self, batch: Sequence[Sentence], call: Call, weighing: Weighing, top: int
    ) -> list[list[Scored | None]]:
        """The same scores for at least the ``top`` best of each sentence's different candidates,
        and None for others."""
        most = self._ensemble.survey_tokens
        fewest = max(FEWEST, 2 * top)
        contested = [one for one in batch if len(one.distinct) >= fewest and one.size <= most]
        everything = {one: one.places for one in contested}
        survey = self._ensemble.survey(_sequences(everything), call)
        numbers = {key: number for number, key in enumerate(_keys(everything))}

        def exact(wanted: Wanted) -> Found:
            return self._scored(wanted, survey.exact([numbers[key] for key in _keys(wanted)]))

        bounds = self._scored(everything, survey.upper_bounds())
        contests = {
            one: Contest(one, [bounds[one][place] for place in one.places], weighing, top)
            for one in contested
        }
        found = self._exact({one: one.places for one in batch if one not in contests}, call)
        found.update(exact({one: contest.favourites for one, contest in contests.items()}))
        rivals = {one: contest.rivals(found[one]) for one, contest in contests.items()}
        for one, others in exact(rivals).items():
            found[one].update(others)
        return [
            [
                _repeating(found[one][place], first) if place in found[one] else None
                for place, first in one.candidates
            ]
            for one in batch
        ]

    def _exact(self, wanted: Wanted, call: Call) -> Found:
        return self._scored(wanted, self._ensemble.log_probabilities(_sequences(wanted), call))

    def _scored(self, wanted: Wanted, values: Sequence[Values]) -> Found:
        remaining = iter(values)
        found: Found = {}
        for one, places in wanted.items():
            unknown = self._ensemble.unknown(one.words)
            found[one] = {
                place: self._candidate(one, place, next(remaining), unknown) for place in places
            }
        return found

    def _candidate(
        self, sentence: Sentence, place: int, values: Values, unknown_words: int
    ) -> Scored:
        """What the values [M, T] of one candidate's tokens come to."""
        by_member = -values.sum(1)
        nll = float(by_member.sum())
        by_token = None
        if self._token_scores:
            rounded = values.sum(0).round(TOKEN_SCORE_DECIMALS).tolist()
            by_token = tuple(zip((*sentence.distinct[place], EOS), rounded, strict=True))
        members, tokens = values.shape
        return Scored(
            nll=nll,
            perplexity=perplexity(nll, len(sentence.words), tokens, members, self._criterion),
            tokens=tokens,
            unknown_words=unknown_words,
            duplicate_of=None,
            token_scores=by_token,
            member_nll=tuple(by_member.tolist()) if members > 1 else (),
        )


def _keys(wanted: Wanted) -> list[tuple[Sentence, int]]:
    return [(one, place) for one, places in wanted.items() for place in places]


def _sequences(wanted: Wanted) -> list[tuple[str, ...]]:
    return [one.distinct[place] for one, place in _keys(wanted)]


def _repeating(scored: Scored, first: int | None) -> Scored:
    return scored if first is None else replace(scored, duplicate_of=first)
