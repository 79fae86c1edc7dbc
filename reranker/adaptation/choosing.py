"""N-best lists -> silver trees: the ensemble's own choices, and how certain they are (McClosky,
Charniak and Johnson 2006, *Effective Self-Training for Parsing*)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker.nbest import NBest
    from reranker.pipeline import Reranker


@dataclass(frozen=True, slots=True)
class Choice:
    """What an ensemble chose for a sentence."""

    tree: str
    margin: float | None  # the lead over the runner-up in nats; None if it is the only candidate
    do_agree: bool  # whether each member alone would choose it, too
    is_first: bool  # whether it is the first of the parser's trees that can be used

    @classmethod
    def of(cls, ranking: Mapping[str, Any]) -> Choice:
        """The choice of a ``Ranking.to_dict()`` with at least one candidate."""
        best, *_ = entries = ranking["ranking"]
        by_member = zip(
            *(entry.get("member_nll") or [entry["nll"]] for entry in entries), strict=True
        )
        do_agree = all(min(nlls) >= nlls[0] for nlls in by_member)
        is_first = best["index"] == min(entry["index"] for entry in entries)
        return cls(best["tree"], ranking["margin"], do_agree, is_first)

    def is_certain(self, margin: float) -> bool:
        """Whether to learn from it: all members agree, and no other tree comes as near as
        ``margin`` nats."""
        return self.do_agree and (self.margin is None or self.margin >= margin)


def choices(reranker: Reranker, lists: Iterable[NBest]) -> Iterator[Choice]:
    """The choice for each list, in order; each list must have a candidate."""
    for ranking in reranker.rerank_lists(lists):
        yield Choice.of(ranking.to_dict())
