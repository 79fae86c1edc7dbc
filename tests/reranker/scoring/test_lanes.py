from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from reranker.process.cancellation import Cancellation, Stopped
from reranker.process.machine import available_cores
from reranker.scoring.lanes import Lanes
from tests.waiting import PATIENCE


def test_jobs_run_side_by_side_and_answer_in_order() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE)  # passed only if three are there at once

    def job(number: int) -> int:
        meeting.wait()
        return number

    lanes = Lanes(3)
    found = lanes.direct(lanes.compute, [partial(job, number) for number in range(3)])
    assert found.result(timeout=PATIENCE) == [0, 1, 2]


def test_a_failure_is_told_and_what_was_not_begun_is_dropped() -> None:
    begun, is_told = [], threading.Event()

    def wrong() -> None:
        raise ValueError("wrong")

    def right() -> None:
        begun.append(1)
        is_told.wait(PATIENCE)

    lanes = Lanes(1)
    with pytest.raises(ValueError, match="wrong"):
        lanes.compute([wrong, *[right] * 50])
    is_told.set()
    lanes.compute([lambda: None])  # after whatever is left
    assert len(begun) <= 1


@pytest.mark.skipif(sys.platform != "linux", reason="this machine's threads have no niceness")
def test_lanes_are_never_less_nice_than_the_process() -> None:
    """Which only root may ask for. On Linux a thread has a niceness of its own: one that becomes
    nicer stands for the process."""

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def ask() -> tuple[int, int, int]:
        start, (first,) = niceness(), Lanes(1, 7).compute([niceness])
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 12)
        (second,) = Lanes(1, 7).compute([niceness])
        return start, first, second

    with ThreadPoolExecutor(1) as thread:
        start, first, second = thread.submit(ask).result()
    assert (first, second) == (max(start, 7), max(start, 12))


def test_cancelling_stops_the_jobs() -> None:
    cancellation, seen = Cancellation(), []
    with pytest.raises(Stopped):
        for item in cancellation.until_cancelled(range(10)):
            seen.append(item)
            if item == 3:
                cancellation.cancel()
    assert seen == [0, 1, 2, 3]


def test_cores() -> None:
    assert available_cores() >= 1
