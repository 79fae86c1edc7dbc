"""Parallel work: each lane is one thread that computes with one core, or drives a GPU.

Torch's own way, all cores on each matrix product, is slower for products of this size, and could
change the last bit of a number.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

import torch

from reranker.process.forks import check_fork, restart_after_fork, submitted
from reranker.process.machine import MOST_THREADS

P = ParamSpec("P")
T = TypeVar("T")


class Lanes:
    """``count`` threads for computing, at most MOST_THREADS; a forked child starts its own."""

    def __init__(self, count: int, niceness: int = 0) -> None:
        """Start the threads. ``niceness`` lowers their priority below the process's other threads,
        as with ``nice``, on Linux only."""
        self.count, self._niceness = min(count, MOST_THREADS), niceness
        self._begin()
        restart_after_fork(self, Lanes._begin)

    def _begin(self) -> None:
        prepare = partial(_prepare, self._niceness)
        self._lock = threading.Lock()
        self._unfinished = 0  # jobs of ``_compute``
        self._compute = ThreadPoolExecutor(self.count, "compute", prepare)
        # These threads mostly wait for computations; one more keeps every lane busy.
        self._direct = ThreadPoolExecutor(self.count + 1, "direct", prepare)

    def close(self) -> None:
        """End the threads; cancel work that has not begun."""
        for threads in (self._direct, self._compute):
            threads.shutdown(wait=False, cancel_futures=True)

    def compute(self, jobs: Iterable[Callable[[], T]]) -> list[T]:
        """Return the results of the jobs; call this only from within ``direct``."""
        futures = deque(self._submit(job) for job in jobs)
        results = []
        try:
            while futures:
                # Keep no reference to the future: an error's frames keep the results, and the two
                # would keep each other until the garbage collection.
                results.append(futures.popleft().result())
        finally:
            for future in futures:
                future.cancel()
        return results

    def spare(self, job: Callable[[], T]) -> Future[T]:
        """Run the job on an idle lane or, without any, in the calling thread."""
        with self._lock:
            has_room = self._unfinished < self.count
        if has_room:
            return self._submit(job)
        done: Future[T] = Future()
        done.set_result(job())
        return done

    def _submit(self, job: Callable[[], T]) -> Future[T]:
        with self._lock:
            self._unfinished += 1
        future = submitted(self._compute, job)
        future.add_done_callback(self._finish)
        return future

    def _finish(self, _: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1

    def direct(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a job that mostly waits for computations. Raises RerankError in a child process
        forked while any jobs ran."""
        check_fork()
        return submitted(self._direct, partial(job, *args, **kwargs))


def _prepare(niceness: int) -> None:
    torch.set_num_threads(1)
    if niceness and sys.platform == "linux":  # where threads have a niceness of their own
        thread = threading.get_native_id()
        # Under ``nice`` the value is higher already, and only root may lower it.
        niceness = max(niceness, os.getpriority(os.PRIO_PROCESS, thread))
        os.setpriority(os.PRIO_PROCESS, thread, niceness)


def _one_thread(_: object) -> None:
    torch.set_num_threads(1)


# Torch's own threads, OpenMP's, are not in a forked child either, and its first large operation, as
# in loading a model, would wait for them.
restart_after_fork(torch, _one_thread)
