"""Scores -> an order of candidates. Scoring happens once; weighing it is cheap and done here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from reranker.nbest import Candidate, NBest, Rejected

Criterion = Literal["perplexity", "token-perplexity"]

# Scores are exact to 1e-4 nats whatever the batch; what differs by less is a tie.
SCORE_DECIMALS = 4
TOKEN_SCORE_DECIMALS = 6

# Raised when a field of the ranked output changes its meaning or goes.
OUTPUT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Weighing:
    """How language model and parser are weighed: weight * LM + (1 - weight) * parser, in nats."""

    lm_weight: float = 1.0
    criterion: Criterion = "perplexity"


@dataclass(frozen=True, slots=True)
class Scored:
    """What the language models say of one candidate."""

    nll: float  # negative log-likelihood in nats, summed over the ensemble's members
    perplexity: float  # by the criterion: per word of the sentence, or per token
    tokens: int  # LM tokens, <eos> included
    unknown_words: int  # words that at least one member does not know
    duplicate_of: int | None  # index of the first candidate with the same tokens
    token_scores: tuple[tuple[str, float], ...] | None = None  # on request, see Ranked


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place; a higher score is better."""

    index: int
    score: float
    nll: float
    perplexity: float
    tokens: int
    unknown_words: int
    parser_score: float | None
    duplicate_of: int | None
    repaired: bool
    tree: str
    token_scores: tuple[tuple[str, float], ...] | None = None
    """Each token of the linearised tree, ``<eos>`` last, with its log-probability in nats summed
    over the ensemble: together they are ``-nll``."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which knows no infinity: such a perplexity is None."""
        data = {name: getattr(self, name) for name in self.__slots__}
        if self.token_scores is None:
            del data["token_scores"]
        if not math.isfinite(self.perplexity):
            data["perplexity"] = None
        return data


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer for one sentence: candidates best first, and those that could not be used."""

    id: str
    ranking: tuple[Ranked, ...]
    rejected: tuple[Rejected, ...]
    fallback: str = "(TOP )"
    """The answer if no candidate could be used."""

    @property
    def status(self) -> Literal["ok", "failed"]:
        """``failed`` if no candidate could be used."""
        return "ok" if self.ranking else "failed"

    @property
    def best(self) -> Ranked | None:
        return self.ranking[0] if self.ranking else None

    @property
    def tree(self) -> str:
        """The best tree as the parser wrote it; without any, ``fallback``."""
        return self.ranking[0].tree if self.ranking else self.fallback

    @property
    def margin(self) -> float | None:
        """The best score less that of the next different candidate; None without one."""
        others = [one for one in self.ranking[1:] if one.duplicate_of is None]
        if not others:
            return None
        return round(self.ranking[0].score - others[0].score, SCORE_DECIMALS)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; docs/output.md describes every field."""
        best = self.best
        return {
            "version": OUTPUT_VERSION,
            "id": self.id,
            "status": self.status,
            "best_index": best.index if best else None,
            "margin": self.margin,
            "fallback": None if best else self.fallback,
            "ranking": [one.to_dict() for one in self.ranking],
            "rejected": [
                {
                    "index": one.index,
                    "file": one.file,
                    "line": one.line,
                    "code": one.code,
                    "message": one.message,
                }
                for one in self.rejected
            ],
        }


def rank(nbest: NBest, scores: Sequence[Scored], weighing: Weighing) -> Ranking:
    """Order the candidates of a list; ``scores[i]`` is candidate i's. Ties keep the parser's order.

    A duplicate takes the score of the candidate it repeats, so it stands after it. With a weight
    below 1 a candidate that has no parser score is rejected (``no-score``).
    """
    rejected = list(nbest.rejected)
    usable: list[tuple[Candidate, Scored]] = []
    for candidate, scored in zip(nbest.candidates, scores, strict=True):
        if weighing.lm_weight < 1 and candidate.score is None:
            message = "no parser score to mix with; use --lm-weight 1"
            rejected.append(
                Rejected(
                    candidate.index,
                    candidate.line,
                    "no-score",
                    message,
                    candidate.text,
                    candidate.file,
                )
            )
        else:
            usable.append((candidate, scored))
    own = {candidate.index: _score(candidate, scored, weighing) for candidate, scored in usable}
    ranked = [
        Ranked(
            index=candidate.index,
            score=own.get(
                candidate.index if scored.duplicate_of is None else scored.duplicate_of,
                own[candidate.index],
            ),
            nll=round(scored.nll, SCORE_DECIMALS),
            perplexity=float(f"{scored.perplexity:.6g}"),
            tokens=scored.tokens,
            unknown_words=scored.unknown_words,
            parser_score=candidate.score,
            duplicate_of=scored.duplicate_of if scored.duplicate_of in own else None,
            repaired=candidate.is_repaired,
            tree=candidate.text,
            token_scores=scored.token_scores,
        )
        for candidate, scored in usable
    ]
    ranked.sort(key=lambda one: (-one.score, one.index))
    rejected.sort(key=lambda one: (one.index, one.line))
    fallback = "" if ranked else replace(nbest, rejected=tuple(rejected)).fallback
    return Ranking(nbest.id, tuple(ranked), tuple(rejected), fallback)


def perplexity(nll: float, words: int, tokens: int, members: int, criterion: Criterion) -> float:
    """exp of the nats per unit, a word of the sentence or a token, averaged over the ensemble.

    The number of words is the same for all candidates of a sentence, so perplexity orders them as
    total log-probability does; the number of tokens is not.
    """
    units = words if criterion == "perplexity" else tokens
    exponent = nll / (members * max(1, units))
    return math.exp(exponent) if exponent < 700 else math.inf


def _score(candidate: Candidate, scored: Scored, weighing: Weighing) -> float:
    weight = weighing.lm_weight
    score = -weight * scored.nll
    if weight < 1 and candidate.score is not None:
        score += (1 - weight) * candidate.score
    if weighing.criterion == "token-perplexity":
        score /= scored.tokens
    return round(score, SCORE_DECIMALS)
