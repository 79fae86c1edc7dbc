from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.scoring.cores import available_cores
from reranker.scoring.lanes import Lanes


def test_jobs_run_side_by_side_and_answer_in_order() -> None:
    meeting = threading.Barrier(3, timeout=60)  # passed only if three are there at once

    def job(number: int) -> int:
        meeting.wait()
        return number

    lanes = Lanes(3)
    found = lanes.direct(lanes.compute, [partial(job, number) for number in range(3)])
    assert found.result(timeout=60) == [0, 1, 2]


def test_a_failure_is_told_and_what_was_not_begun_is_dropped() -> None:
    begun = []

    def wrong() -> None:
        time.sleep(0.2)
        raise ValueError("wrong")

    def right() -> None:
        time.sleep(0.05)
        begun.append(1)

    lanes = Lanes(1)
    with pytest.raises(ValueError, match="wrong"):
        lanes.compute([wrong, *[right] * 50])
    time.sleep(0.3)
    assert len(begun) < 10


def test_cancelling_stops_the_jobs() -> None:
    cancellation, seen = Cancellation(), []
    with pytest.raises(Stopped):
        for item in cancellation.checked(range(10)):
            seen.append(item)
            if item == 3:
                cancellation.cancel()
    assert seen == [0, 1, 2, 3]


def test_cores() -> None:
    assert available_cores() >= 1
