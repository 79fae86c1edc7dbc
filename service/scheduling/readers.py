"""Reading bodies in children, and what becomes of a child that takes too long.

How long a body takes to read is not known before, so each child reads one at a time, and clients
are charged for the CPU time that their bodies have taken. A client holds at most one child of a
kind, so that another client's body is read meanwhile.
"""

from __future__ import annotations

import asyncio
import signal
import time
from functools import partial

import structlog

from reranker.nbest import NBest
from reranker.process.cancellation import Stopped
from reranker.service.children.child import Child
from reranker.service.errors import Lost, RequestError, draining, over_limit, unavailable
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseQuery
from reranker.service.scheduling.pool import Job, Pool
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.service")

LONG_BODY = 100_000
"""Bytes of a body that takes longer than some 0.1 s to read."""

_LONG_TEXT = 10_000
"""Bytes of a text that does: its sentences and words have to be found."""

# Children for short bodies, and as many for long ones.
_CHILDREN = 2

# Reading comes after scoring and answering: whoever floods the readers with short bodies takes
# little from requests that have been read. A long body comes after short ones, and takes long to
# score anyway.
_NICENESS, _NICENESS_OF_LONG = 6, 14

# How long a child has to stop by itself. It takes a quarter of a second to start another.
_PATIENCE_SECONDS = 1.0

# CPU time for the first text, which waits for libraries to be loaded.
_FIRST_SECONDS = 60.0


class Readers:
    """The children that read bodies. Each is started when it is first needed, and again after it
    has ended."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._short = _Readers(settings, metrics, "bodies", _NICENESS)
        self._long = _Readers(settings, metrics, "long bodies", _NICENESS_OF_LONG)
        self.pools = self._short.pool, self._long.pool

    async def start(self) -> None:
        """Have a first text read, so that the first request need not wait for a child."""
        body = Body("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
        await self._short.pool.ask("", (body, _FIRST_SECONDS))

    async def read(self, body: Body, client: str) -> Contents:
        """What is in a body. Raises RequestError 422 if it takes more CPU time to read than
        ``reading_seconds`` allows, 503 if the child dies of it, and what ``reading.read`` does."""
        long = _LONG_TEXT if body.path in ("/parse", "/surprisal") else LONG_BODY
        readers = self._long if len(body.content) >= long else self._short
        megabytes = max(1, len(body.content) / 2**20)
        seconds = self._settings.reading_seconds * megabytes
        try:
            return await readers.pool.ask(client, (body, seconds))
        except asyncio.CancelledError:
            self._metrics.unread.inc()
            raise


class _Readers:
    """Children for bodies of one kind."""

    def __init__(self, settings: Settings, metrics: Metrics, name: str, niceness: int) -> None:
        self._settings = settings
        heartbeat, ended = settings.heartbeat_seconds, partial(metrics.child_ended, "reading")
        self.children = [
            Child("reading", settings, heartbeat, niceness, ended) for _ in range(_CHILDREN)
        ]
        self.pool = pool = Pool(name, self.children, _CHILDREN, self._read, 1)
        metrics.reading_busy.labels(name).set_function(lambda: pool.count(True))
        metrics.reading_waiting.labels(name).set_function(lambda: pool.count(False))

    def _read(self, job: Job[tuple[Body, float], Contents], place: int) -> Contents:
        """In a thread."""
        child, started = self.children[place], time.monotonic()
        items: list[NBest | TextSentence] = []
        contents: Contents | None = None
        used = 0.0  # seconds of CPU time
        try:
            replies = child.started().replies(
                job.value, job.cancellation, patience=_PATIENCE_SECONDS
            )
            for is_last, value in replies:
                if is_last:
                    contents = value
                elif isinstance(value, float):
                    used = value
                else:
                    items.append(value)
        except TimeoutError:  # it does not even notice that it should stop
            child.end()
            _LOGGER.warning("reading did not stop and was ended")
            raise Stopped from None
        except Lost as error:
            raise self._error(error) from error
        finally:
            self.pool.charge(job, used or time.monotonic() - started)
        assert contents is not None
        return contents._replace(
            lists=[item for item in items if isinstance(item, NBest)],
            sentences=[item for item in items if isinstance(item, TextSentence)],
        )

    def _error(self, lost: Lost) -> RequestError:
        """Why there is no answer."""
        if self.pool.is_closed:
            return draining()
        if lost.signal == signal.SIGPROF:
            _LOGGER.warning("reading took too long", **lost.description)
            what = "the CPU time to read the body"
            return over_limit(self._settings, "reading_seconds", what, None)
        _LOGGER.error("reading crashed", **lost.description)
        message = "the process that read the request died; it is restarted"
        return unavailable("reader-crashed", message)
