"""Results of lists, in the lists' order: the choice of lists to score together, and when.

Sentences are read in pools and scored in batches of similar length, so that a batch is as wide at
its end as at its start. Two pools are in progress: one is read while the other is scored. A pool is
sized to take about a second of processor time, by measurement, and later a fortieth of the run:
larger pools are faster, and early results mean that an interrupted run loses little. The size of a
pool affects the speed, not the results.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from operator import sub
from typing import Generic, TypeVar

from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.process.forks import check_fork
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.lanes import Lanes

T = TypeVar("T")
Batch = Sequence[DistinctCandidates]

# Distinct tokens of the lists scored together; a longer list is scored by itself.
BATCH_TOKENS = 60_000
# Batches made from one pool: with more of them, sentences in a batch are more alike in length.
POOL_BATCHES = 4

# The seconds to score a pool, and at most to read it. The first pool's results come soon.
POOL_SECONDS, MOST_POOL_SECONDS, _SHARE = 0.8, 4.0, 1 / 40
FIRST_POOL_TOKENS = 2_000


def in_order(
    lists: Iterable[NBest],
    score: Callable[[Batch, Cancellation], list[T]],
    lanes: Lanes,
    batch_tokens: int,
    outer: Cancellation | None = None,
    first_tokens: int | None = None,
) -> Iterator[tuple[NBest, T]]:
    """Yield each list with its result from ``score``, which gets batches of about ``batch_tokens``.
    The first pool has ``first_tokens``, by default few. Closing the iterator cancels the work in
    progress; so does ``outer``, and then Stopped is raised."""
    cancellation = Cancellation(outer)
    under_way: deque[_Pool[T]] = deque()
    try:
        most_tokens = batch_tokens * max(POOL_BATCHES, lanes.count)
        pace = _Pace(first_tokens or FIRST_POOL_TOKENS, most_tokens)
        for pool in _pools(cancellation.until_cancelled(lists), pace):
            futures = (
                (batch, lanes.direct(score, batch, cancellation))
                for batch in batches(pool, batch_tokens, lanes.count)
            )
            under_way.append(_Pool(pool, futures))
            if len(under_way) > 1:
                yield from under_way.popleft().results(pace)
        while under_way:
            yield from under_way.popleft().results(pace)
    finally:
        cancellation.cancel()
        for unfinished in under_way:
            unfinished.cancel()


class _Pool(Generic[T]):
    """Sentences read together, and the batches in which they are scored."""

    def __init__(self, sentences: Batch, futures: Iterable[tuple[Batch, Future[list[T]]]]) -> None:
        self._sentences, self._futures = sentences, deque(futures)

    def results(self, pace: _Pace) -> Iterator[tuple[NBest, T]]:
        """Yield the results once all batches are done, so that a failing batch does not leave half
        a pool behind."""
        results: dict[int, T] = {}
        check_fork()  # or the jobs are never done
        while self._futures:
            results.update(_of_batch(*self._futures.popleft()))
        pace.add(sum(sentence.size for sentence in self._sentences))
        for sentence in self._sentences:
            yield sentence.nbest, results[id(sentence)]

    def cancel(self) -> None:
        for _, future in self._futures:
            future.cancel()


def _of_batch(batch: Batch, future: Future[list[T]]) -> dict[int, T]:
    try:
        return {id(each): result for each, result in zip(batch, future.result(), strict=True)}
    finally:
        # As in ``Lanes.compute``: an error's frames and its future would keep each other.
        del future


class _Pace:
    """The number of tokens for the next pool, from the processor time that the last pools took."""

    def __init__(self, first_tokens: int, most_tokens: int) -> None:
        self._most, self.tokens = most_tokens, min(first_tokens, most_tokens)
        self._began, self._finished = time.monotonic(), (time.monotonic(), time.process_time())
        self._done, self._seconds = 0.0, 1e-3  # of the last pools; older pools count less

    @property
    def seconds(self) -> float:
        """Return the seconds for a pool: at first few, later a share of the run."""
        share = _SHARE * (time.monotonic() - self._began)
        return max(POOL_SECONDS, min(share, MOST_POOL_SECONDS))

    def add(self, tokens: int) -> None:
        """Record that a pool of ``tokens`` tokens is done."""
        now = time.monotonic(), time.process_time()
        self._done = self._done / 2 + tokens
        # The lesser: several lanes use more processor time than passes, a busy machine less.
        self._seconds = self._seconds / 2 + min(map(sub, now, self._finished))
        self._finished = now
        wanted = int(self.seconds * self._done / self._seconds)
        # At most double: one measurement can be far off.
        self.tokens = min(self._most, 2 * self.tokens, max(FIRST_POOL_TOKENS, wanted))


def _pools(lists: Iterable[NBest], pace: _Pace) -> Iterator[list[DistinctCandidates]]:
    """Yield sentences in order, about ``pace.tokens`` tokens at a time; fewer if they arrive
    slowly, as from a running parser."""
    pool: list[DistinctCandidates] = []
    size = 0
    began = time.monotonic()
    for nbest in lists:
        pool.append(DistinctCandidates(nbest))
        size += pool[-1].size
        if size > pace.tokens or time.monotonic() - began > pace.seconds:
            yield pool
            pool, size = [], 0
            began = time.monotonic()
    if pool:
        yield pool


def batches(pool: Batch, tokens: int, lanes: int) -> list[list[DistinctCandidates]]:
    """Return batches of about ``tokens`` tokens, enough to keep every lane busy, each of sentences
    of similar length."""
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
