"""Where sentences wait for other parsers than the built-in one, which run in a parsing child.

A request's sentences go to as many parsers as are free, a batch at a time. Each parser works for
one request at a time, so that it can be stopped without the others. ``parsing_main`` is what runs
in the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

import structlog

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.process.cancellation import Stopped
from reranker.service.children.child import Child
from reranker.service.children.reasons import BROKEN
from reranker.service.errors import Lost, RequestError, described, draining, unavailable
from reranker.service.fairness import amount_ahead, overloaded
from reranker.service.metrics import Metrics
from reranker.service.scheduling.pool import Job, Pool
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.parsing")

AHEAD = 32
"""How many sentences of a request are parsed before those before them are scored."""

# The next request waits for a whole batch, so batches stay small.
_MOST_AT_ONCE = 16

# Largest expected time, as a share of that to the deadline, beside others: it is only an estimate.
_WAITING_SHARE = 0.8

# How long the child has to end its parsers.
_ENDING_SECONDS = 0.5

# After a parser could not be started, requests are refused for so long without another attempt.
_AGAIN_SECONDS = 5.0

# Parsing comes after what answers, and beside scoring.
_NICENESS = 9

_Batch = Sequence[TextSentence]


@dataclass(eq=False)
class _Request:
    """The sentences of one request."""

    client: str
    sentences: _Batch
    given: int = 0
    """Sentences that wait for a parser, or have been given to one."""
    taken: int = 0
    """Sentences that the request is done with."""

    @property
    def words(self) -> int:
        """Words of the other sentences."""
        return _words(self.sentences[self.given :])

    def next_batch(self, size: int) -> _Batch | None:
        """Up to ``size`` sentences, or None for now. Not in driblets, since a program may take long
        to start."""
        size = min(size, len(self.sentences) - self.given)
        if not size or self.given + size > self.taken + AHEAD:
            return None
        self.given += size
        return self.sentences[self.given - size : self.given]


class Parsers:
    """The parsing child, and the requests that wait for its parsers. It starts at once, or when it
    is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        heartbeat = settings.heartbeat_seconds
        self._child = Child("parsing", settings, heartbeat, _NICENESS, self._ended, _ENDING_SECONDS)
        self.pool = Pool("parsing", [self._child], settings.parsers, self._parse)
        self._requests: list[_Request] = []
        self._sizes: Sequence[int] = (1,)
        self._tried: object = None  # the process whose parser works
        self._attempt: asyncio.Future[str] | None = None
        self._not_before = 0.0  # when to start it again, by time.monotonic()
        self._seconds_a_word = 0.0  # of one parser, learned
        names = settings.parser_choice.names
        self.is_there = "bllip" not in names or bool(importlib.util.find_spec("bllipparser"))
        """Whether there is a parser, though it may not work."""

    @property
    def sentences(self) -> int:
        """Sentences that wait for a parser, or are being parsed or scored."""
        return sum(len(request.sentences) - request.taken for request in list(self._requests))

    async def start(self) -> None:
        """See whether the parser that the settings name works; raises RerankError."""
        if self._settings.has_parser and (reason := await self._started()):
            raise RerankError(reason)

    async def warm_up(self) -> None:
        """Load the parser, if there is one, so that the first request does not wait for that; if
        it does not work, the log says so."""
        if self.is_there:
            with contextlib.suppress(RequestError):  # the service ends
                await self._started()

    async def parse(
        self, sentences: _Batch, client: str, deadline: float
    ) -> AsyncGenerator[list[NBest]]:
        """The lists of sentences, in order, those together that are there at once; if closed early,
        what is under way is cancelled. Raises RequestError 429 if they can probably not be parsed
        by the deadline beside others, 503 if the parser cannot be started now."""
        if await self._started():
            raise unavailable("parser-failed", BROKEN, math.ceil(_AGAIN_SECONDS))
        request = _Request(client, sentences)
        self._check_room(request, deadline - time.monotonic())
        self._requests.append(request)
        try:
            async with contextlib.aclosing(self._lists(request)) as groups:
                async for lists in groups:
                    yield lists
        finally:
            self._requests.remove(request)

    async def _lists(self, request: _Request) -> AsyncGenerator[list[NBest]]:
        sizes = [min(_MOST_AT_ONCE, size) for size in self._sizes]
        # Parsers share the small first batches.
        each = itertools.chain.from_iterable([size] * self._settings.parsers for size in sizes)
        growing = itertools.chain(each, itertools.repeat(sizes[-1]))
        size, batches = next(growing), deque[asyncio.Task[list[NBest]]]()
        try:
            while request.taken < len(request.sentences):
                under_way = {task for task in batches if not task.done()}
                while len(under_way) < self._settings.parsers and (
                    batch := request.next_batch(size)
                ):
                    asked = self.pool.ask(request.client, batch, _words(batch) + len(batch))
                    batches.append(asyncio.ensure_future(asked))
                    under_way.add(batches[-1])
                    size = next(growing)
                if not batches[0].done():
                    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                lists = list[NBest]()
                while batches and batches[0].done():
                    lists += batches.popleft().result()
                if lists:
                    places = itertools.count(request.taken)
                    yield [replace(nbest, id=str(next(places))) for nbest in lists]
                    request.taken += len(lists)
        finally:
            for task in batches:
                task.cancel()
            await asyncio.gather(*batches, return_exceptions=True)

    def _check_room(self, request: _Request, seconds: float) -> None:
        """Raises RequestError 429 if it will probably take longer than so many seconds."""
        waiting = [(other.client, other.words) for other in self._requests]
        if not waiting:
            return
        words = request.words + amount_ahead(request.client, request.words, waiting)
        each = self._seconds_a_word / self._settings.parsers
        if words * each > _WAITING_SHARE * seconds:
            raise overloaded(sum(words for _, words in waiting) * each)

    async def _started(self) -> str:
        """Start the child unless it runs; returns why no parser works now, or an empty string."""
        if self._tried is not None and self._tried is self._child.process:
            return ""
        if self._attempt is None:
            if time.monotonic() < self._not_before:
                return BROKEN
            self._attempt = asyncio.ensure_future(self._try())
        # Shielded: other requests wait for the attempt, too, if this one is cancelled.
        return await asyncio.shield(self._attempt)

    async def _try(self) -> str:
        try:
            process = await asyncio.to_thread(self._child.started)
            self._sizes = await asyncio.to_thread(process.reply, None)
            self._tried = process
            return ""
        except (RerankError, MemoryError) as error:
            reason = str(error)
        except Lost as error:
            if self.pool.is_closed:
                raise draining() from error
            reason = f"{error.description['error']}: {error.description.get('message', '')}"
            reason = reason.removesuffix(": ")
        finally:
            self._attempt = None
        _LOGGER.warning("no parser", reason=reason)
        await asyncio.to_thread(self._child.end)
        self._not_before = time.monotonic() + _AGAIN_SECONDS
        return reason

    # What follows runs in threads.

    def _ended(self, why: Lost) -> None:
        self._metrics.child_ended("parsing", why)
        if self._requests:
            _LOGGER.error("parsing crashed", **why.description)

    def _parse(self, job: Job[_Batch, list[NBest]], lane: int) -> list[NBest]:
        started, lists = time.monotonic(), list[NBest]()
        try:
            for is_last, value in self._child.started().replies(job.value, job.cancellation, lane):
                if is_last:
                    lists = value
                else:
                    for fault in value:
                        _LOGGER.error("the parser failed", **fault)
        except (Stopped, RequestError):
            raise
        except BaseException as error:
            if self.pool.is_closed:
                raise draining() from error
            if not isinstance(error, Lost):
                _LOGGER.error("parsing crashed", **described(error))
            message = "the process that parses texts died; it is restarted"
            raise unavailable("parser-crashed", message) from error
        self._learn((time.monotonic() - started) / len(job.value), job.value)
        return lists

    def _learn(self, seconds: float, batch: _Batch) -> None:
        """Update the estimate of the time a word takes."""
        for _ in batch:
            self._metrics.parser_seconds.observe(seconds)
        each = seconds * len(batch) / max(1, _words(batch))
        self._seconds_a_word += 0.1 * (each - self._seconds_a_word)


def _words(batch: _Batch) -> int:
    return sum(len(each.sentence.words) for each in batch)
