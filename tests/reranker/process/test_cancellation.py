"""Pausing and cancelling what another thread computes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reranker.process.cancellation import Cancellation, Stopped
from tests.waiting import PATIENCE, until


@contextmanager
def counting(cancellation: Cancellation) -> Iterator[list[int]]:
    """Yield numbers that another thread counts, one a millisecond; -1 if it was stopped."""
    seen: list[int] = []

    def count() -> None:
        try:
            for number in Cancellation(cancellation).checked(itertools.count()):
                seen.append(number)
                time.sleep(0.001)
        except Stopped:
            seen.append(-1)

    thread = threading.Thread(target=count)
    thread.start()
    yield seen
    cancellation.cancel()
    thread.join(PATIENCE)
    assert not thread.is_alive() and seen[-1] == -1


def wait_for_more(seen: list[int]) -> None:
    count = len(seen)
    until(lambda: len(seen) > count)


def pause(cancellation: Cancellation, seen: list[int]) -> None:
    """Pause, and assert that at most one more number is counted."""
    cancellation.pause()
    count = len(seen)
    time.sleep(0.1)
    assert len(seen) <= count + 1


def test_what_is_paused_goes_on_where_it_was() -> None:
    cancellation = Cancellation()
    with counting(cancellation) as seen:
        wait_for_more(seen)
        pause(cancellation, seen)
        cancellation.resume()
        wait_for_more(seen)
        assert seen == [*range(len(seen))]


def test_what_is_paused_can_be_cancelled() -> None:
    cancellation = Cancellation()
    with counting(cancellation) as seen:
        wait_for_more(seen)
        pause(cancellation, seen)


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_part_is_paused_with_the_whole(is_paused: bool) -> None:
    whole = Cancellation()
    if is_paused:
        whole.pause()
    assert Cancellation(whole).is_paused == is_paused
