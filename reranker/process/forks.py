"""Forks: a child has none of its parent's threads, locks held by those threads are held for ever,
and the parent's child programs remain the parent's."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from reranker.errors import RerankError

T = TypeVar("T")


class _Forks:
    """The state that forked children of this process need about jobs in threads."""

    def __init__(self) -> None:
        self.is_among_work = False
        self.begin: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
        self.jobs: WeakSet[Future[Any]] = WeakSet()
        self.submitting = threading.Lock()  # held while the process forks
        os.register_at_fork(
            before=self._before,
            after_in_parent=self.submitting.release,
            after_in_child=self._in_child,
        )

    def _before(self) -> None:
        self.submitting.acquire()
        # Not in the child, where a job's own lock may be held for ever.
        self._works = any(not job.done() for job in self.jobs)

    def _in_child(self) -> None:
        self.submitting.release()
        self.is_among_work |= self._works
        self.jobs.clear()
        for owner, begin in list(self.begin.items()):
            begin(owner)


_forks = _Forks()


def restart_after_fork(owner: T, begin: Callable[[T], None]) -> None:
    """Call ``begin(owner)`` in every forked child before anything else, as long as the owner
    exists."""
    _forks.begin[owner] = begin


class ForkSafeCache:
    """A cache of values by key; the first thread that asks for a key creates its value. A forked
    child keeps the values and gets a new lock, since a thread of its parent may have held the old
    one."""

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}
        self._renew()
        restart_after_fork(self, ForkSafeCache._renew)

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return the value for the key, created by ``make`` on the first request."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            value: T = self._values[key]
            return value

    def _renew(self) -> None:
        self._lock = threading.Lock()


def submitted(threads: ThreadPoolExecutor, job: Callable[[], T]) -> Future[T]:
    """Submit ``job`` to ``threads``, and record it for children forked before it is done."""
    with _forks.submitting:
        future = threads.submit(job)
        _forks.jobs.add(future)
    return future


def check_fork() -> None:
    """Raise RerankError in a child that was forked while ``submitted`` jobs ran: it would wait for
    ever for the jobs, and for locks that their threads held, as in oneDNN."""
    if _forks.is_among_work:
        raise RerankError(
            "this process was forked while models were scoring in a thread of its parent, and "
            "would wait for ever: fork before scoring begins or after it ends, or start processes "
            "with spawn"
        )
