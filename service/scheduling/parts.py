"""Scoring in ever smaller parts where memory does not suffice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from reranker.errors import lacks_memory
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.scoring.distinct import DistinctCandidates

if TYPE_CHECKING:
    from reranker.service.children.scoring import Served


def score_in_parts(
    reranker: Served,
    lists: Sequence[NBest],
    token_scores: bool,
    halved: Callable[[], None],
    cancellation: Cancellation | None = None,
    lanes: Any = None,
) -> list[list[Scored] | None]:
    """The scores of each list; if memory does not suffice, of one half after the other, down to
    single candidates. ``halved`` is called each time that happens. None for a list with a candidate
    that does not fit even alone. ``lanes``: see ``Reranker.score_lists``. Raises Stopped if
    cancelled.
    """
    try:
        scored = reranker.score_lists(
            lists, token_scores=token_scores, cancellation=cancellation, lanes=lanes
        )
        return [scores for _, scores in scored]
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
    # Not in the except clause: the traceback would keep the tensors alive.
    halved()
    part = partial(
        score_in_parts,
        reranker,
        token_scores=token_scores,
        halved=halved,
        cancellation=cancellation,
        lanes=lanes,
    )
    if middle := len(lists) // 2:
        return part(lists[:middle]) + part(lists[middle:])
    (nbest,) = lists
    middle = len(nbest.candidates) // 2
    if not middle:
        return [None]
    (left,) = part([replace(nbest, candidates=nbest.candidates[:middle])])
    (right,) = part([replace(nbest, candidates=nbest.candidates[middle:])])
    if left is None or right is None:
        return [None]
    # A half cannot know what it repeats of the other.
    together = zip(left + right, DistinctCandidates(nbest).candidates, strict=True)
    return [[replace(scored, duplicate_of=original) for scored, (_, original) in together]]
