"""Scoring in ever smaller parts where memory does not suffice for all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch

from reranker import Reranker
from reranker.nbest import NBest
from reranker.scoring.distinct import DistinctCandidates
from reranker.service.queue import Scores


class OutOfMemory(Exception):
    """Not even a single candidate fits."""


def score_in_parts(
    reranker: Reranker, lists: Sequence[NBest], token_scores: bool, halved: Callable[[], None]
) -> Scores:
    """The scores of each list; if memory does not suffice, of one half after the other, down to
    single candidates. ``halved`` is called each time that happens. Raises OutOfMemory.
    """
    try:
        return [scores for _, scores in reranker.score_lists(lists, token_scores=token_scores)]
    except (MemoryError, RuntimeError) as error:
        # On a GPU torch has an error of its own for it, on a CPU only a message.
        is_typed = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_typed and "can't allocate memory" not in str(error):
            raise
    # Not in the except clause: the traceback would keep the tensors alive.
    halved()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    part = partial(score_in_parts, reranker, token_scores=token_scores, halved=halved)
    if middle := len(lists) // 2:
        return part(lists[:middle]) + part(lists[middle:])
    (nbest,) = lists
    middle = len(nbest.candidates) // 2
    if not middle:
        raise OutOfMemory
    (left,) = part([replace(nbest, candidates=nbest.candidates[:middle])])
    (right,) = part([replace(nbest, candidates=nbest.candidates[middle:])])
    # A half cannot know what it repeats of the other.
    together = zip(left + right, DistinctCandidates(nbest).candidates, strict=True)
    return [[replace(scored, duplicate_of=original) for scored, (_, original) in together]]
