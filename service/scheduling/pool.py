"""Jobs of many clients, and the few places where children do them: bodies are read, sentences are
parsed or read word by word. Clients take turns; the first of the free places is taken, so that no
child or parser is started without need.

A job may take long and cannot be interrupted, so a pool can keep a client from holding every place.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from reranker.process.cancellation import Cancellation
from reranker.service.children.child import Child
from reranker.service.errors import draining
from reranker.service.scheduling.fair_queue import FairQueue

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(eq=False)
class Job(Generic[Value, Result]):
    """Something that a client wants done."""

    client: str
    value: Value
    cost: float = 0.0
    """What the client is charged when it begins."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    result: Future[Result] = field(default_factory=Future)
    is_begun: bool = False


class Pool(Generic[Value, Result]):
    """Jobs that wait, a thread for each place, and the children that the threads ask."""

    def __init__(
        self,
        name: str,
        children: Sequence[Child],
        places: int,
        work: Callable[[Job[Value, Result], int], Result],
        most_of_client: int | None = None,
    ) -> None:
        """``work`` does a job, at a place counted from 0, in a thread. A client holds at most
        ``most_of_client`` places; None: all."""
        self._children, self._work = children, work
        self._most_of_client = places if most_of_client is None else most_of_client
        self._changed = threading.Condition()
        self._jobs: FairQueue[Job[Value, Result]] = FairQueue()
        self.is_closed = False
        self._free: queue.PriorityQueue[int] = queue.PriorityQueue()
        for place in range(places):
            self._free.put(place)
            threading.Thread(None, self._run, name, daemon=True).start()

    @property
    def memory(self) -> float:
        """Bytes that the children hold."""
        return sum(child.memory for child in self._children)

    async def ask(self, client: str, value: Value, cost: float = 0.0) -> Result:
        """What becomes of a job; cancelled with it. Raises what ``work`` does, and RequestError 503
        once the pool is closed."""
        job = Job[Value, Result](client, value, cost)
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

    def charge(self, job: Job[Value, Result], amount: float) -> None:
        """Charge a client for a job that has begun."""
        with self._changed:
            self._jobs.charge(job, amount)

    def count(self, is_begun: bool) -> int:
        """How many jobs are being done, or wait."""
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
        for child in self._children:
            child.close()

    # What follows runs in threads.

    def _run(self) -> None:
        while (job := self._next()) is not None:
            place, result = self._free.get(), job.result
            try:
                done = partial(result.set_result, self._work(job, place))
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

    def _next(self) -> Job[Value, Result] | None:
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
                    self._jobs.charge(job, job.cost)
                    return job
        return None

    def _next_to_begin(self) -> Job[Value, Result] | None:
        """Return the next job of a client that may hold another place, if there is one."""
        held = Counter(job.client for job in self._jobs if job.is_begun)
        return self._jobs.next(
            lambda job: not job.is_begun and held[job.client] < self._most_of_client
        )
