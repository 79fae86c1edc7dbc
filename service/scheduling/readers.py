"""Children that read bodies, and the end of a child that takes too long.

The time that a body takes is not known in advance, so each child reads one body at a time, and
clients are charged for the CPU time afterwards. A client holds at most one child for short bodies
and one for long ones, so that another client's body is read meanwhile.
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
"""Bytes of a text that takes as long: its sentences and words have to be found."""

# Scoring and answering come before reading: a flood of short bodies takes little time from requests
# that have been read. Long bodies come last, since they take long to score anyway.
_NICENESS, _NICENESS_OF_LONG = 6, 14

# CPU time for the first text, which waits for libraries to be loaded.
_FIRST_SECONDS = 60.0


class Readers:
    """The children that read bodies, each started when needed, and again after its end."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._limits, self._metrics = Limits.from_settings(settings), metrics
        self._short, self._long = self.pools = [
            Pool(name, niceness, settings, metrics, self._lost)
            for name, niceness in (("bodies", _NICENESS), ("long bodies", _NICENESS_OF_LONG))
        ]

    async def start(self) -> None:
        """Have a first text read, so that the first request need not wait for a child."""
        body = Body("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
        await self._short.ask("", body, _FIRST_SECONDS)

    async def read(self, body: Body, client: str) -> Contents:
        """Return the contents of a body. Raises RequestError 422 if it takes more CPU time to read
        than ``reading_seconds`` allows, 503 if the child dies, and errors of ``reading.read``."""
        long = _LONG_TEXT if body.path == "/parse" else LONG_BODY
        pool = self._long if len(body.content) >= long else self._short
        megabytes = max(1, len(body.content) / 2**20)
        seconds = self._limits.reading_seconds * megabytes
        try:
            reply = await pool.ask(client, body, seconds)
        except asyncio.CancelledError:
            self._metrics.unread.inc()
            raise
        contents: Contents = reply.value
        return contents._replace(
            lists=[item for item in reply.parts if isinstance(item, NBest)],
            sentences=[item for item in reply.parts if isinstance(item, TextSentence)],
        )

    def _lost(self, lost: Lost) -> RequestError:
        """Log how a child was lost, and return the error for the client."""
        if lost.signal == signal.SIGPROF:
            _LOGGER.warning("reading took too long", **lost.description)
            what = "the CPU time to read the body"
            return self._limits.exceeded("reading_seconds", what, None)
        _LOGGER.error("reading crashed", **lost.description)
        message = "the process that read the request died; it is restarted"
        return unavailable("reader-crashed", message)
