"""Children that read bodies, and the end of a child that takes too long.

How long a body takes to read is not known before, so each child reads one at a time, and clients
are charged for the CPU time that their bodies have taken. A client holds at most one child of a
kind, so that another client's body is read meanwhile.
"""

from __future__ import annotations

import asyncio
import signal

import structlog

from reranker.nbest import NBest
from reranker.service.errors import Lost, RequestError, unavailable
from reranker.service.limits import Limits
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseQuery
from reranker.service.scheduling.pool import Pool
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
    """The children that read bodies, each started when needed, and again after its end."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._limits, self._metrics = Limits.of(settings), metrics
        self._short, self._long = self.pools = [
            Pool[tuple[Body, float]](
                name,
                "reading",
                start=self._limits,
                settings=settings,
                metrics=metrics,
                lost=self._lost,
                niceness=niceness,
                patience=_PATIENCE_SECONDS,
                doing="reading",
                count=_CHILDREN,
                most_of_client=1,
            )
            for name, niceness in (("bodies", _NICENESS), ("long bodies", _NICENESS_OF_LONG))
        ]

    async def start(self) -> None:
        """Have a first text read, so that the first request need not wait for a child."""
        body = Body("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
        await self._short.ask("", (body, _FIRST_SECONDS))

    async def read(self, body: Body, client: str) -> Contents:
        """Return the contents of a body. Raises RequestError 422 if it takes more CPU time to read
        than ``reading_seconds`` allows, 503 if the child dies of it, and what ``reading.read``
        does."""
        long = _LONG_TEXT if body.path == "/parse" else LONG_BODY
        pool = self._long if len(body.content) >= long else self._short
        megabytes = max(1, len(body.content) / 2**20)
        seconds = self._limits.reading_seconds * megabytes
        try:
            reply = await pool.ask(client, (body, seconds))
        except asyncio.CancelledError:
            self._metrics.unread.inc()
            raise
        contents: Contents = reply.value
        return contents._replace(
            lists=[item for item in reply.parts if isinstance(item, NBest)],
            sentences=[item for item in reply.parts if isinstance(item, TextSentence)],
        )

    def _lost(self, lost: Lost) -> RequestError:
        """Log why there is no answer, and return the error for the client."""
        if lost.signal == signal.SIGPROF:
            _LOGGER.warning("reading took too long", **lost.description)
            what = "the CPU time to read the body"
            return self._limits.exceeded("reading_seconds", what, None)
        _LOGGER.error("reading crashed", **lost.description)
        message = "the process that read the request died; it is restarted"
        return unavailable("reader-crashed", message)
