"""Results keep coming while lists are still being read, in the lists' order."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from reranker.nbest import Candidate, NBest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.scoring import pools
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.lanes import Lanes
from reranker.trees.linearize import linearize_text
from tests.waiting import PATIENCE, until


def lists(count: int, read: list[int]) -> Iterator[NBest]:
    """Yield lists of one candidate, 10 tokens with ``<eos>``; count in ``read`` the lists taken."""
    tree = "(S (X a) (X b) (X c) (X d) (X e) (X f) (X g))"
    for number in range(count):
        read.append(number)
        yield NBest(str(number), (Candidate(0, tree, linearize_text(tree), None, 1),), (), 1)


def sizes(batch: pools.Batch, cancellation: Cancellation) -> list[int]:
    return [sentence.size for sentence in batch]


def test_the_first_results_come_before_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST_POOL_TOKENS", 25)  # 3 lists are more
    read: list[int] = []
    results = pools.in_order(lists(1_000, read), sizes, Lanes(2), 60_000)
    assert next(results)[1] == 10
    # Two pools are in progress, and a pool is at most twice as large as the previous one.
    assert len(read) <= 9
    assert [nbest.id for nbest, _ in results] == [str(number) for number in range(1, 1_000)]


class Clock:
    """A stand-in for ``time`` that advances on command."""

    def __init__(self) -> None:
        self._now = 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        return self._now

    process_time = monotonic

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pools, "time", made)
    return made


def test_a_pool_is_what_is_scored_in_a_second(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "FIRST_POOL_TOKENS", 25)
    monkeypatch.setattr(pools, "POOL_SECONDS", 0.1)
    pool_sizes: list[int] = []

    def slow(batch: pools.Batch, cancellation: Cancellation) -> list[int]:
        pool_sizes.append(len(batch))
        clock.advance(0.01 * len(batch))  # 10 lists in 0.1 seconds
        return [0] * len(batch)

    assert len(list(pools.in_order(lists(120, []), slow, Lanes(1), 60_000))) == 120
    assert pool_sizes[0] == 3
    # Two pools may be scored before the first of them is counted.
    assert 4 < max(pool_sizes) < 40


def test_a_pool_of_a_long_run_is_a_fortieth_of_it(clock: Clock) -> None:
    pace, sizes = pools._Pace(2_000, 1_000_000), {}
    while clock.monotonic() < 400:
        clock.advance(pace.tokens / 5_000)
        pace.add(pace.tokens)
        sizes[clock.monotonic()] = pace.tokens / 5_000
    assert all(seconds < 0.9 for now, seconds in sizes.items() if now < 32)
    assert all(now / 45 < seconds < now / 35 for now, seconds in sizes.items() if 50 < now < 150)
    assert all(3.6 < seconds < 4.4 for now, seconds in sizes.items() if now > 200)


def test_lists_that_come_slowly_make_small_pools(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "FIRST_POOL_TOKENS", 10_000)
    monkeypatch.setattr(pools, "POOL_SECONDS", 0.05)
    read: list[int] = []

    def slowly() -> Iterator[NBest]:
        for nbest in lists(40, read):
            clock.advance(0.02)
            yield nbest

    def score(batch: pools.Batch, cancellation: Cancellation) -> list[int]:
        return [0] * len(batch)

    next(pools.in_order(slowly(), score, Lanes(1), 60_000))
    assert len(read) == 6  # two pools of three


def test_who_stops_listening_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "FIRST_POOL_TOKENS", 5)  # less than one list
    begun, cancelled = threading.Event(), []

    def patient(batch: pools.Batch, cancellation: Cancellation) -> list[int]:
        if batch[0].nbest.id == "0":
            return [0]
        begun.set()
        try:
            for _ in cancellation.until_cancelled(itertools.count()):
                time.sleep(0.01)
        except Stopped:
            cancelled.append(batch[0].nbest.id)
            raise
        raise AssertionError("it was never cancelled")

    results = pools.in_order(lists(500, []), patient, Lanes(1), 60)
    next(results)
    assert begun.wait(timeout=PATIENCE)
    results.close()  # type: ignore[attr-defined]
    until(lambda: cancelled)


def test_what_was_computed_in_vain_is_freed_at_once() -> None:
    """Not by the garbage collection: a batch holds some 60 MB of tensors."""

    class Computed:
        pass

    left: list[weakref.ref[Computed]] = []
    lanes = Lanes(2)

    def compute(is_late: bool) -> None:
        kept = Computed()
        left.append(weakref.ref(kept))
        time.sleep(0.1 * is_late)
        raise Stopped

    def score(batch: pools.Batch, cancellation: Cancellation) -> list[None]:
        return lanes.compute([partial(compute, False), partial(compute, True)])

    gc.disable()
    try:
        with pytest.raises(Stopped):
            list(pools.in_order(lists(500, []), score, lanes, 60))
        until(lambda: left and not any(one() for one in left))
    finally:
        gc.enable()


def test_sizes_of_distinct_candidates() -> None:
    (nbest,) = lists(1, [])
    assert DistinctCandidates(nbest).size == 10
