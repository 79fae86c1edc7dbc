"""Jobs of many clients, and the children that do them: bodies are read, sentences are read word by
word. Clients take turns; the first idle place is taken, so that no child is started without need.

A job may take long and cannot be interrupted, so a pool can keep a client from holding every place.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import Child
from reranker.service.errors import Lost, RequestError, draining
from reranker.service.metrics import Metrics
from reranker.service.scheduling.fair_queue import FairQueue
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.service")

Value = TypeVar("Value")


class Reply(NamedTuple):
    """The reply of a child, and the parts that it has sent before."""

    value: Any
    parts: list[Any]


@dataclass(eq=False)
class Job(Generic[Value]):
    """A job that a client has asked for."""

    client: str
    value: Value
    cost: float | None = None
    """The client is charged so much when the job begins; None: at its end, for the seconds of CPU
    time that the child has told, as a part."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    result: Future[Reply] = field(default_factory=Future)
    is_begun: bool = False


class Pool(Generic[Value]):
    """Jobs that wait, and children with a thread for each of their lanes."""

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        start: object,
        settings: Settings,
        metrics: Metrics,
        lost: Callable[[Lost], RequestError],
        niceness: int,
        patience: float,
        doing: str,
        count: int = 1,
        lanes: int = 1,
        most_of_client: int | None = None,
    ) -> None:
        """Start the threads of ``count`` children, each of which does ``lanes`` jobs at once.

        ``name`` is the label of metrics, ``kind`` the name of the children's module, ``start`` the
        first message to a child, ``doing`` their work as the log names it. A child has
        ``patience`` seconds to notice a cancellation before it is ended; ``lost`` logs the loss of
        a child and returns the answer. A client holds at most ``most_of_client`` places.
        """
        ended, heartbeat = partial(metrics.child_ended, kind), settings.heartbeat_seconds
        self.children = [Child(kind, start, heartbeat, niceness, ended) for _ in range(count)]
        self._lanes, self._patience, self._doing, self._lost = lanes, patience, doing, lost
        self._most_of_client = most_of_client or count * lanes
        self._changed = threading.Condition()
        self._jobs: FairQueue[Job[Value]] = FairQueue()
        self.is_closed = False
        metrics.reading_busy.labels(name).set_function(lambda: self.count(True))
        metrics.reading_waiting.labels(name).set_function(lambda: self.count(False))
        self._free: queue.PriorityQueue[int] = queue.PriorityQueue()
        for place in range(count * lanes):
            self._free.put(place)
            threading.Thread(None, self._run, name, daemon=True).start()

    @property
    def memory(self) -> float:
        """Return the bytes that the children hold."""
        return sum(child.memory for child in self.children)

    async def ask(self, client: str, value: Value, cost: float | None = None) -> Reply:
        """Return the reply to a job, which is cancelled with the caller. Raises what the child
        does, what ``lost`` returns, and RequestError 503 once the pool is closed."""
        job = Job[Value](client, value, cost)
        with self._changed:
            if self.is_closed:
                raise draining()
            self._jobs.add(job)
            self._changed.notify()
        try:
            return await asyncio.wrap_future(job.result)
        finally:
            job.cancellation.cancel()
            with self._changed:
                if not job.is_begun and job in self._jobs:
                    self._jobs.remove(job)

    def count(self, is_begun: bool) -> int:
        """Count the jobs that are being done, or the jobs that wait."""
        with self._changed:
            return sum(job.is_begun == is_begun for job in self._jobs)

    def drop(self) -> None:
        """Cancel all jobs; requests that wait for them are answered 503."""
        for job in self._jobs:
            job.cancellation.cancel()
            with contextlib.suppress(InvalidStateError):
                job.result.set_exception(draining())

    def close(self) -> None:
        """End the children for good."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
        self.drop()
        for child in self.children:
            child.close()

    # What follows runs in threads.

    def _run(self) -> None:
        while (job := self._next()) is not None:
            place, result = self._free.get(), job.result
            try:
                done = partial(result.set_result, self._do(job, place))
            except BaseException as error:
                done = partial(result.set_exception, error)
            # Free before its client can ask for more.
            self._free.put(place)
            with self._changed:
                self._jobs.remove(job)
                self._changed.notify()  # its client may have waited for this place
            del job
            with contextlib.suppress(InvalidStateError):  # it has been dropped
                done()
            del done, result

    def _do(self, job: Job[Value], place: int) -> Reply:
        child, lane = self.children[place // self._lanes], place % self._lanes
        started, reply = time.monotonic(), Reply(None, [])
        used = 0.0  # seconds of CPU time
        try:
            replies = child.started().replies(
                job.value, job.cancellation, lane, patience=self._patience
            )
            for is_last, value in replies:
                if is_last:
                    reply = reply._replace(value=value)
                elif isinstance(value, float):
                    used = value
                else:
                    reply.parts.append(value)
        except TimeoutError:  # it does not even notice that it should stop
            child.end()
            _LOGGER.warning(f"{self._doing} did not stop and was ended")
            raise Stopped from None
        except Lost as error:
            raise (draining() if self.is_closed else self._lost(error)) from error
        finally:
            if job.cost is None:
                with self._changed:
                    self._jobs.charge(job, used or time.monotonic() - started)
        return reply

    def _next(self) -> Job[Value] | None:
        """Wait for a job; None once the pool is closed."""
        with self._changed:
            while not self.is_closed:
                job = self._next_to_begin()
                if job is None:
                    self._changed.wait()
                elif job.cancellation.is_cancelled:
                    self._jobs.remove(job)
                else:
                    job.is_begun = True
                    self._jobs.charge(job, job.cost or 0.0)
                    return job
        return None

    def _next_to_begin(self) -> Job[Value] | None:
        """Return the next job of a client that may hold another place, if there is one."""
        held = Counter(job.client for job in self._jobs if job.is_begun)
        return self._jobs.next(
            lambda job: not job.is_begun and held[job.client] < self._most_of_client
        )
