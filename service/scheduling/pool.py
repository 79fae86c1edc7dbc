"""Bodies of many clients, and the children that read them. Clients take turns; the first idle child
reads next, so that no child is started without need.

A body may take long and cannot be interrupted, so a client holds at most one child of a pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import structlog

from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import Child
from reranker.service.errors import Lost, RequestError, draining
from reranker.service.limits import Limits
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body
from reranker.service.scheduling.fair_queue import FairQueue
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.service")

_CHILDREN = 2

# How long a child has to stop by itself. It takes a quarter of a second to start another.
_PATIENCE_SECONDS = 1.0


class Reply(NamedTuple):
    """The reply of a child, and the parts that it has sent before."""

    value: Any
    parts: list[Any]


@dataclass(eq=False)
class ReadingTask:
    """A body that a client wants to have read."""

    client: str
    value: tuple[Body, float]
    """The body, and the seconds of CPU time that reading it may take."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    result: Future[Reply] = field(default_factory=Future)
    is_begun: bool = False


class Pool:
    """Bodies that wait, and children with a thread for each, which read one body at a time."""

    def __init__(
        self,
        name: str,
        niceness: int,
        settings: Settings,
        metrics: Metrics,
        lost: Callable[[Lost], RequestError],
    ) -> None:
        """Start the threads. ``name`` labels the metrics; ``lost`` logs how a child was lost and
        returns the error for the client."""
        ended, heartbeat = partial(metrics.child_ended, "reading"), settings.heartbeat_seconds
        self.children = [
            Child("reading", Limits.from_settings(settings), heartbeat, niceness, ended)
            for _ in range(_CHILDREN)
        ]
        self._lost = lost
        self._changed = threading.Condition()
        self._readings: FairQueue[ReadingTask] = FairQueue()
        self.is_closed = False
        metrics.reading_busy.labels(name).set_function(lambda: self.count(True))
        metrics.reading_waiting.labels(name).set_function(lambda: self.count(False))
        self._free: queue.PriorityQueue[int] = queue.PriorityQueue()
        for place in range(_CHILDREN):
            self._free.put(place)
            threading.Thread(None, self._run, name, daemon=True).start()

    @property
    def memory(self) -> float:
        """Return the bytes that the children hold."""
        return sum(child.memory for child in self.children)

    async def ask(self, client: str, body: Body, seconds: float) -> Reply:
        """Return the reply of the child that reads a body, with at most ``seconds`` of CPU time.
        The reading is cancelled with the caller. Raises the child's errors, the error that ``lost``
        returns, and RequestError 503 once the pool is closed."""
        reading = ReadingTask(client, (body, seconds))
        with self._changed:
            if self.is_closed:
                raise draining()
            self._readings.add(reading)
            self._changed.notify()
        try:
            return await asyncio.wrap_future(reading.result)
        finally:
            reading.cancellation.cancel()
            with self._changed:
                if not reading.is_begun and reading in self._readings:
                    self._readings.remove(reading)

    def count(self, is_begun: bool) -> int:
        """Count the bodies that are being read, or the bodies that wait."""
        with self._changed:
            return sum(reading.is_begun == is_begun for reading in self._readings)

    def close(self) -> None:
        """End the children for good; requests that still wait are answered 503."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
        for reading in self._readings:
            reading.cancellation.cancel()
            with contextlib.suppress(InvalidStateError):
                reading.result.set_exception(draining())
        for child in self.children:
            child.close()

    # What follows runs in threads.

    def _run(self) -> None:
        while (reading := self._next()) is not None:
            place, result = self._free.get(), reading.result
            try:
                done = partial(result.set_result, self._do(reading, place))
            except BaseException as error:
                done = partial(result.set_exception, error)
            # Free before its client can ask for more.
            self._free.put(place)
            with self._changed:
                self._readings.remove(reading)
                self._changed.notify()  # its client may have waited for this child
            del reading
            with contextlib.suppress(InvalidStateError):  # it has been dropped
                done()
            del done, result

    def _do(self, reading: ReadingTask, place: int) -> Reply:
        child = self.children[place]
        started, reply = time.monotonic(), Reply(None, [])
        used = 0.0  # seconds of CPU time
        try:
            replies = child.started().replies(
                reading.value, reading.cancellation, patience=_PATIENCE_SECONDS
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
            _LOGGER.warning("reading did not stop and was ended")
            raise Stopped from None
        except Lost as error:
            raise (draining() if self.is_closed else self._lost(error)) from error
        finally:
            with self._changed:
                self._readings.charge(reading, used or time.monotonic() - started)
        return reply

    def _next(self) -> ReadingTask | None:
        """Wait for a body; return None once the pool is closed."""
        with self._changed:
            while not self.is_closed:
                reading = self._next_to_begin()
                if reading is None:
                    self._changed.wait()
                elif reading.cancellation.is_cancelled:
                    self._readings.remove(reading)
                else:
                    reading.is_begun = True
                    self._readings.charge(reading, 0.0)  # newcomers start where the others are now
                    return reading
        return None

    def _next_to_begin(self) -> ReadingTask | None:
        """Return the next body of a client that holds no child, if there is one."""
        held = {reading.client for reading in self._readings if reading.is_begun}
        return self._readings.next(
            lambda reading: not reading.is_begun and reading.client not in held
        )
