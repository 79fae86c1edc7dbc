"""A cascade: some models score every candidate of a list, the others only those that can still win.

What is left out may have been the winner: ``rerank tune`` chooses the margins so that it seldom is,
on lists with gold trees, and says how often (docs/tuning.md). Scores of what is left are those of
the whole ensemble.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from reranker.errors import RerankError
from reranker.ranking import Weighing


@dataclass(frozen=True, slots=True)
class Cascade:
    """The order in which an ensemble's members score, and which candidates survive each stage, for
    choices by ``weighing``."""

    weighing: Weighing
    stages: tuple[tuple[int, ...], ...]
    """The members of each stage, by number; each member is in one stage."""
    margins: tuple[float, ...]
    """For each stage but the last, in nats: a candidate survives if its expected score is at most
    this far below the best."""

    def __post_init__(self) -> None:
        members = [member for stage in self.stages for member in stage]
        if sorted(members) != list(range(len(members))) or not all(self.stages):
            raise RerankError(f"the stages must name every member exactly once, got {self.stages}")
        if len(self.stages) < 2 or len(self.margins) != len(self.stages) - 1:
            raise RerankError(
                f"{len(self.margins)} margins for {len(self.stages)} stages: there must be one "
                "for each stage but the last"
            )
        if not all(0 <= margin < math.inf for margin in self.margins):
            raise RerankError(f"the margins must be numbers of at least 0, got {self.margins}")

    def holds_for(self, weighing: Weighing) -> bool:
        """Whether the cascade misses no more under this weighing than under its own. A smaller
        ``lm_weight`` brings candidates closer together, so more of them stay."""
        at_most = weighing.lm_weight <= self.weighing.lm_weight
        return at_most and replace(weighing, lm_weight=1.0) == replace(self.weighing, lm_weight=1.0)

    def signature(self) -> str:
        """The part of a figure's signature that describes the cascade."""
        stages = "/".join("+".join(map(str, stage)) for stage in self.stages)
        return f"cascade={stages} margins={','.join(f'{margin:g}' for margin in self.margins)}"


def expected(known: Mapping[int, float], members: int) -> tuple[float, ...]:
    """Each member's negative log-likelihood of a candidate where only some are known: the mean of
    these stands for the others.

    >>> expected({0: 3.0, 2: 5.0}, 4)
    (3.0, 4.0, 5.0, 4.0)
    """
    mean = math.fsum(known.values()) / len(known)
    return tuple(known.get(member, mean) for member in range(members))
