"""Lists in, results out, in the lists' order: what is scored together, and when.

Sentences are read a pool at a time and scored in batches of sentences alike in length, so that a
batch is as wide at its end as at its start. Two pools are under way: one is read while the other
is scored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from reranker.nbest import NBest
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.lanes import Cancellation, Lanes

T = TypeVar("T")
Batch = Sequence[DistinctCandidates]

# Distinct tokens of the lists that are scored together; a longer list is scored by itself.
BATCH_TOKENS = 60_000
# Batches that are made of what is read ahead: the more, the more alike in length their sentences.
POOL_BATCHES = 4


def in_order(
    lists: Iterable[NBest],
    score: Callable[[Batch, Cancellation], list[T]],
    lanes: Lanes,
    batch_tokens: int,
) -> Iterator[tuple[NBest, T]]:
    """Each list with what ``score`` makes of it, given batches of about ``batch_tokens``. Closing
    the iterator cancels what is under way."""
    cancellation = Cancellation()
    under_way: deque[_Pool[T]] = deque()
    try:
        for pool in _pools(lists, batch_tokens * max(POOL_BATCHES, lanes.count)):
            futures = [
                (batch, lanes.direct(score, batch, cancellation))
                for batch in batches(pool, batch_tokens, lanes.count)
            ]
            under_way.append(_Pool(pool, futures))
            if len(under_way) > 1:
                yield from under_way.popleft().results()
        while under_way:
            yield from under_way.popleft().results()
    finally:
        cancellation.cancel()
        for unfinished in under_way:
            unfinished.cancel()


class _Pool(Generic[T]):
    """Sentences that were read together and the batches they are scored in."""

    def __init__(self, sentences: Batch, futures: Sequence[tuple[Batch, Future[list[T]]]]) -> None:
        self._sentences, self._futures = sentences, futures

    def results(self) -> Iterator[tuple[NBest, T]]:
        """When all batches are done, so that a batch's failure leaves no half of a pool behind."""
        results = {
            id(sentence): result
            for batch, future in self._futures
            for sentence, result in zip(batch, future.result(), strict=True)
        }
        for sentence in self._sentences:
            yield sentence.nbest, results[id(sentence)]

    def cancel(self) -> None:
        for _, future in self._futures:
            future.cancel()


def _pools(lists: Iterable[NBest], tokens: int) -> Iterator[list[DistinctCandidates]]:
    """Sentences in order, about ``tokens`` at a time."""
    pool: list[DistinctCandidates] = []
    size = 0
    for nbest in lists:
        pool.append(DistinctCandidates(nbest))
        size += pool[-1].size
        if size > tokens:
            yield pool
            pool, size = [], 0
    if pool:
        yield pool


def batches(pool: Batch, tokens: int, lanes: int) -> list[list[DistinctCandidates]]:
    """Batches of about ``tokens``, as many as keep every lane busy, each of sentences alike in
    length."""
    total = sum(sentence.size for sentence in pool)
    count = -(-total // (tokens * lanes)) * lanes
    share = total / max(1, count)
    filled: list[list[DistinctCandidates]] = []
    room = 0.0
    for sentence in sorted(pool, key=lambda sentence: -sentence.longest):
        if not filled or sentence.size / 2 > room:
            filled.append([])
            room += share
        filled[-1].append(sentence)
        room -= sentence.size
    return filled
