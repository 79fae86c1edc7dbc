"""The threads that read requests and write answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from reranker.process.cancellation import Stopped
from reranker.service.metrics import Metrics

T = TypeVar("T")


class ReadingThreads(ThreadPoolExecutor):
    """Threads that read requests and write answers; the metrics tell how busy they are."""

    def __init__(self, threads: int, name: str, metrics: Metrics) -> None:
        super().__init__(threads, name)
        self._metrics = metrics
        self._unfinished: set[Future[Any]] = set()
        metrics.reading_busy.labels(name).set_function(lambda: self._count(Future.running))
        metrics.reading_waiting.labels(name).set_function(lambda: self._count(_is_waiting))

    def submit(self, function: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        future = super().submit(function, *args, **options)
        self._unfinished.add(future)
        future.add_done_callback(self._finished)
        return future

    def _count(self, condition: Callable[[Future[Any]], bool]) -> int:
        return sum(map(condition, tuple(self._unfinished)))  # other threads change the set

    def _finished(self, future: Future[Any]) -> None:
        self._unfinished.discard(future)
        if future.cancelled() or isinstance(future.exception(), Stopped):
            self._metrics.unread.inc()


def _is_waiting(future: Future[Any]) -> bool:
    return not future.running() and not future.done()
