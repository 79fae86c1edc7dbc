"""An interruption that did not wake the waiting thread is dealt with all the same."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from reranker.process.waiting import result_of
from tests.waiting import PATIENCE


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
