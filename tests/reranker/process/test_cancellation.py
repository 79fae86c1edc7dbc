"""Pausing and cancelling what another thread computes, and interruptions of waiting."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from reranker.process.cancellation import Cancellation, Stopped, result_of
from tests.waiting import PATIENCE, until


@contextmanager
def counting(cancellation: Cancellation) -> Iterator[list[int]]:
    """Yield numbers that another thread counts, one a millisecond; -1 if it was stopped."""
    seen: list[int] = []

    def count() -> None:
        try:
            for number in Cancellation(cancellation).until_cancelled(itertools.count()):
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


@pytest.fixture
def raising() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_woke_nobody(raising: None) -> None:
    begun, enough = threading.Event(), threading.Event()

    def work() -> bool:
        begun.wait()
        time.sleep(0.2)  # by now the main thread probably waits
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return enough.wait(PATIENCE)

    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(work)
        with pytest.raises(KeyboardInterrupt):
            begun.set()
            result_of(future)
        assert not future.done()
        enough.set()
    assert future.result()


def test_results_and_errors_are_given() -> None:
    with ThreadPoolExecutor(1) as threads:
        assert result_of(threads.submit(lambda: 3)) == 3
        with pytest.raises(ZeroDivisionError):
            result_of(threads.submit(lambda: 1 // 0))
