"""The confidence in a choice: the probability that the best tree has a better F1 than the parser's
first, by logistic regression on the scores of the two.

``rerank tune`` fits the regression to lists with gold trees (docs/tuning.md); ckpt/README.md gives
its quality. It changes no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reranker.errors import RerankError
from reranker.ranking.ranking import Ranked, Ranking, Weighing

FEATURES = ("models", "parser")
DECIMALS = 4
_MAX_NATS = 1e6  # a score may be any number


def features(models: Sequence[float], parser: float) -> tuple[float, ...]:
    """Return the ``FEATURES`` of a choice, from the nats by which each language model and the
    parser prefer the best tree to the parser's first: the nats of the least favourable model, and
    the parser's, both on a logarithmic scale.

    >>> [round(value, 3) for value in features([3.0, -1.0], -7.0)]
    [-0.693, -2.079]
    """
    return _scaled(min(models)), _scaled(parser)


def _scaled(nats: float) -> float:
    return math.copysign(math.log1p(min(abs(nats), _MAX_NATS)), nats)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibration of confidences: log odds = ``intercept`` + ``coefficients`` * features, for
    choices by ``weighing`` with any ``lm_weight``: that weight decides the choice but, given the
    features, hardly its quality (ckpt/README.md)."""

    weighing: Weighing
    intercept: float
    coefficients: tuple[float, ...]  # a coefficient for each of ``FEATURES``

    def __post_init__(self) -> None:
        if len(self.coefficients) != len(FEATURES):
            raise RerankError(f"{len(self.coefficients)} coefficients, not {len(FEATURES)}")
        for number in (self.intercept, *self.coefficients):
            if not math.isfinite(number):
                raise RerankError(f"a coefficient is {number}")

    def probability(self, models: Sequence[float], parser: float) -> float:
        """Return the probability that a choice is better, from the arguments of ``features``."""
        terms = zip(self.coefficients, features(models, parser), strict=True)
        log_odds = self.intercept + math.fsum(weight * value for weight, value in terms)
        return (1 + math.tanh(log_odds / 2)) / 2  # exp could leave the number range

    def better_than_first(self, ranking: Ranking, weighing: Weighing) -> float | None:
        """Return the probability that the ranking's best tree is better than the parser's first;
        None if they are the same tree, if the first is not ranked, if either has no parser score,
        and for a weighing that differs in more than ``lm_weight``."""
        best = ranking.best
        holds = weighing.replaced(self.weighing.lm_weight) == self.weighing
        if not holds or best is None or best.index == 0:
            return None
        first = next((entry for entry in ranking if entry.index == 0), None)
        if first is None or best.parser_score is None or first.parser_score is None:
            return None
        parser = best.parser_score - first.parser_score
        return round(self.probability(_gains(best, first), parser), DECIMALS)


def _gains(best: Ranked, first: Ranked) -> list[float]:
    pairs = zip(best.member_nll or (best.nll,), first.member_nll or (first.nll,), strict=True)
    return [other - own for own, other in pairs]
