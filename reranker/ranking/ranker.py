"""``Ranker``: an ensemble without its weights, which orders scored candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, Protocol

from reranker.nbest import NBest
from reranker.ranking.confidence import DECIMALS, Calibration
from reranker.ranking.ranking import Ranking, Scored, Weighing, rank

if TYPE_CHECKING:
    from reranker.checkpoints.span_vocabulary import SpanVocabulary
    from reranker.checkpoints.vocabulary import Vocabulary

VERSION = version("parse-reranker")
Combination = Literal["sum", "average"]


class Member(Protocol):
    """A model without its weights."""

    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def vocabulary(self) -> Vocabulary | SpanVocabulary: ...
    @property
    def parameters(self) -> int: ...


class Ranker:
    """An ensemble, and the conversion of its members' scores into an order. It does not need torch:
    the members may be in another process."""

    members: Sequence[Member]
    combination: Combination
    weighing: Weighing  # the default of calls without one
    calibration: Calibration | None  # if given, rankings under its weighing have a confidence
    device: str  # the devices of the members: ``cpu``, or ``cuda:0,cuda:1``
    precision: str  # ``exact`` or ``fast`` (reranker.checkpoints.members.load_placed)

    def signature(self, weighing: Weighing) -> str:
        """Return everything that a figure depends on, on one line."""
        members = ",".join(f"{member.name}:{member.sha256[:8]}" for member in self.members)
        return (
            f"version={VERSION} models={members} combine={self.combination} "
            f"{weighing.signature()} precision={self.precision} device={self.device}"
        )

    def rank(
        self,
        nbest: NBest,
        scores: Sequence[Scored | None],
        weighing: Weighing,
        top: int | None = None,
    ) -> Ranking:
        """Rank as ``reranker.ranking.rank`` does, add the confidence in the best tree if known, and
        cut the ranking to the ``top`` best different candidates."""
        ranking = rank(nbest, scores, weighing)
        if nbest.certainty is not None:
            ranking = replace(ranking, confidence=_confidence(ranking, nbest))
        elif self.calibration is not None:
            better = self.calibration.better_than_first(ranking, weighing)
            ranking = replace(ranking, better_than_first=better)
        return ranking if top is None else ranking.cut(top)


def _confidence(ranking: Ranking, nbest: NBest) -> float | None:
    """Return the mean probability of the best tree's brackets."""
    if ranking.best is None or nbest.certainty is None:
        return None
    index = ranking.best.index
    best = next(each for each in nbest.candidates if each.index == index)
    mean = nbest.certainty.mean(best.tokens)
    return None if mean is None else round(mean, DECIMALS)
