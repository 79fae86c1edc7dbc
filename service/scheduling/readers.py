"""Reading bodies in children: whose body is next, and what becomes of a child that takes too long.

How long a body takes to read is not known before, so each child reads one at a time. Clients take
turns, and are charged for the CPU time that their bodies have taken.
"""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

import structlog

from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import Child
from reranker.service.errors import Lost, ServiceError, draining, over_limit, unavailable
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseQuery
from reranker.service.scheduling.fair_queue import FairQueue
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.service")

LONG_BODY = 100_000
"""Bytes of a body that takes longer than some 10 ms to read."""

# Children for short bodies, and as many for long ones.
_CHILDREN = 2

# A long body comes after what is small and what answers, and takes long to score anyway.
_NICENESS = 14

# How long a child has to stop by itself. It takes a quarter of a second to start another.
_PATIENCE_SECONDS = 1.0

# CPU time for the first text, which waits for libraries to be loaded.
_FIRST_SECONDS = 60.0


class Readers:
    """The children that read bodies. Each is started when it is first needed, and again after it
    has ended."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._short = _Pool(settings, metrics, "bodies", 0)
        self._long = _Pool(settings, metrics, "long bodies", _NICENESS)

    @property
    def memory(self) -> float:
        """Bytes that the children hold."""
        return self._short.memory + self._long.memory

    async def start(self) -> None:
        """Have a first text read, so that the first request need not wait for a child."""
        body = Body("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
        await self._short.read(body, "", _FIRST_SECONDS)

    async def read(self, body: Body, client: str) -> Contents:
        """What is in a body. Raises ServiceError 422 if it takes more CPU time to read than
        ``reading_seconds`` allows, 503 if the child dies of it, and what ``reading.read`` does."""
        pool = self._long if len(body.content) >= LONG_BODY else self._short
        megabytes = max(1, len(body.content) / 2**20)
        return await pool.read(body, client, self._settings.reading_seconds * megabytes)

    def close(self) -> None:
        self._short.close()
        self._long.close()


@dataclass(eq=False)
class _Job:
    """A body that is to be read."""

    client: str
    body: Body
    seconds: float
    cancellation: Cancellation = field(default_factory=Cancellation)
    result: Future[Contents] = field(default_factory=Future)
    is_begun: bool = False
    used: float = 0.0
    """Seconds of CPU time."""


class _Pool:
    """Children for bodies of one kind, and the bodies that wait for one."""

    def __init__(self, settings: Settings, metrics: Metrics, name: str, niceness: int) -> None:
        self._settings, self._metrics = settings, metrics
        self._changed = threading.Condition()
        self._jobs: FairQueue[_Job] = FairQueue()
        self._is_closed = False
        self._children = [
            Child("reading", settings, settings.heartbeat_seconds, niceness, self._ended)
            for _ in range(_CHILDREN)
        ]
        # The one that was used last is taken first, so that others are not started without need.
        self._idle: queue.LifoQueue[Child] = queue.LifoQueue()
        for child in self._children:
            self._idle.put(child)
            threading.Thread(None, self._run, name, daemon=True).start()
        metrics.reading_busy.labels(name).set_function(lambda: self._count(True))
        metrics.reading_waiting.labels(name).set_function(lambda: self._count(False))

    @property
    def memory(self) -> float:
        return sum(child.memory for child in self._children)

    async def read(self, body: Body, client: str, seconds: float) -> Contents:
        job = _Job(client, body, seconds)
        with self._changed:
            if self._is_closed:
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
                    self._metrics.unread.inc()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            for job in self._jobs:
                job.cancellation.cancel()
                if not job.is_begun:
                    self._jobs.remove(job)
                    job.result.set_exception(draining())
            self._changed.notify_all()
        for child in self._children:
            child.close()

    def _count(self, is_begun: bool) -> int:
        with self._changed:
            return sum(job.is_begun == is_begun for job in self._jobs)

    def _ended(self, why: Lost) -> None:
        self._metrics.child_restarts.labels("reading").inc()
        if why.has_hung:
            self._metrics.hung_children.labels("reading").inc()

    # What follows runs in threads, one for each child.

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.result.set_result(self._read(job))
            except BaseException as error:
                if isinstance(error, Stopped):
                    self._metrics.unread.inc()
                job.result.set_exception(error)
            with self._changed:
                self._jobs.charge(job, job.used)
                self._jobs.remove(job)
            del job

    def _next(self) -> _Job | None:
        """Wait for a body; None once the pool is closed."""
        with self._changed:
            while not self._is_closed:
                job = self._jobs.next(lambda job: not job.is_begun)
                if job is not None and job.result.set_running_or_notify_cancel():
                    job.is_begun = True
                    return job
                if job is not None:
                    self._jobs.remove(job)
                else:
                    self._changed.wait()
        return None

    def _read(self, job: _Job) -> Contents:
        child, started = self._idle.get(), time.monotonic()
        items: list[NBest | TextSentence] = []
        contents: Contents | None = None
        try:
            process = child.started()
            request = (job.body, job.seconds)
            replies = process.replies(request, job.cancellation, patience=_PATIENCE_SECONDS)
            for is_last, value in replies:
                if is_last:
                    contents = value
                elif isinstance(value, float):
                    job.used = value
                else:
                    items.append(value)
        except TimeoutError:  # it does not even notice that it should stop
            child.end()
            _LOGGER.warning("reading did not stop and was ended")
            raise Stopped from None
        except Lost as error:
            raise self._error(error) from error
        finally:
            job.used = job.used or time.monotonic() - started
            self._idle.put(child)
        assert contents is not None
        return contents._replace(
            lists=[item for item in items if isinstance(item, NBest)],
            sentences=[item for item in items if isinstance(item, TextSentence)],
        )

    def _error(self, lost: Lost) -> ServiceError:
        """Why there is no answer."""
        if self._is_closed:
            return draining()
        if lost.signal == signal.SIGPROF:
            _LOGGER.warning("reading took too long", **lost.description)
            limit = self._settings.reading_seconds
            return over_limit("reading_seconds", limit, "the CPU time to read the body", None)
        _LOGGER.error("reading crashed", **lost.description)
        message = "the process that read the request died; it is restarted"
        return unavailable("reader-crashed", message)
