"""Where sentences wait for other parsers than the built-in one, which run in a parsing child.

Clients take turns, and so do the requests of each, by words; a request's sentences go to as many
parsers as are free. Each parser works for one request at a time, so that it can be stopped without
the others. ``parsing_main`` is what runs in the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import math
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace

import structlog

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import Child
from reranker.service.children.reasons import BROKEN
from reranker.service.errors import Lost, ServiceError, described, draining, unavailable
from reranker.service.fairness import amount_ahead, overloaded
from reranker.service.metrics import Metrics
from reranker.service.scheduling.fair_queue import FairQueue
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


@dataclass(eq=False)
class Parse:
    """The sentences of one request on their way through the parsers."""

    client: str
    sentences: Sequence[TextSentence]
    changed: threading.Condition
    cancellation: Cancellation = field(default_factory=Cancellation)
    given: int = 0
    """Sentences that a parser has been given."""
    taken: int = 0
    """Sentences that the request is done with."""
    sizes: Iterator[int] = field(default_factory=lambda: iter(()))
    size: int = 1
    """Size of the next batch."""
    error: ServiceError | None = None
    _finished: dict[int, NBest] = field(default_factory=dict)  # until those before are, too
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def waits(self) -> bool:
        """Whether there is something to do for it."""
        rest = len(self.sentences) - self.given
        # Not in driblets, since a program may take long to start.
        has_room = self.given + min(self.size, rest) <= self.taken + AHEAD
        return rest > 0 and has_room and self.error is None and not self.cancellation.is_cancelled

    @property
    def words(self) -> int:
        """Words of the sentences that no parser has been given yet."""
        return _words(self.sentences[self.given :])

    async def lists(self) -> list[NBest]:
        """The lists that are there now, in order, at least one; none after the last. Raises
        ServiceError."""
        with self.changed:
            self.changed.notify_all()  # those of the last call have been scored
        while self.taken < len(self.sentences):
            with self.changed:
                lists = list[NBest]()
                while (nbest := self._finished.pop(self.taken, None)) is not None:
                    lists.append(nbest)
                    self.taken += 1
            if lists:
                return lists
            if self.error is not None:
                raise self.error
            await self._news.wait()
            self._news.clear()
        return []

    def finish(self, begin: int, lists: Sequence[NBest]) -> None:
        with self.changed:
            for place, nbest in enumerate(lists, begin):
                self._finished[place] = replace(nbest, id=str(place))
        self._wake()

    def fail(self, error: ServiceError) -> None:
        self.error = self.error or error
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has been closed
            self._loop.call_soon_threadsafe(self._news.set)


@dataclass(eq=False)
class _Lane:
    """A parser in the child."""

    number: int
    parse: Parse | None = None
    """What it works on."""


class Parsers:
    """The parsing child, and the requests that wait for its parsers. It starts at once, or when it
    is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        heartbeat = settings.heartbeat_seconds
        self._child = Child("parsing", settings, heartbeat, _NICENESS, self._ended)
        self._changed = threading.Condition()
        self._requests: FairQueue[Parse] = FairQueue()
        self._sizes: Sequence[int] = (1,)
        self._tried: object = None  # the process whose parser works
        self._attempt: asyncio.Future[str] | None = None
        self._not_before = 0.0  # when to start it again, by time.monotonic()
        self._is_closed = False
        self._seconds_a_word = 0.0  # of one parser, learned
        names = settings.parser_choice.names
        self.is_there = "bllip" not in names or bool(importlib.util.find_spec("bllipparser"))
        """Whether there is a parser, though it may not work."""
        self._lanes = [_Lane(number) for number in range(settings.parsers)]
        for lane in self._lanes:
            threading.Thread(None, self._run, "parsing", (lane,), daemon=True).start()

    @property
    def memory(self) -> float:
        """Bytes that the child holds, parsers not counted."""
        return self._child.memory

    @property
    def sentences(self) -> int:
        """Sentences that wait for a parser, or are being parsed or scored."""
        return sum(len(parse.sentences) - parse.taken for parse in self._requests)

    async def start(self) -> None:
        """See whether the parser that the settings name works; raises RerankError."""
        if self._settings.has_parser and (reason := await self._started()):
            raise RerankError(reason)

    async def warm_up(self) -> None:
        """Load the parser, if there is one, so that the first request does not wait for that; if
        it does not work, the log says so."""
        if self.is_there:
            with contextlib.suppress(ServiceError):  # the service ends
                await self._started()

    @contextlib.asynccontextmanager
    async def parse(
        self, sentences: Sequence[TextSentence], client: str, deadline: float
    ) -> AsyncIterator[Parse]:
        """Have sentences parsed; what is under way of them when this ends is cancelled. Raises
        ServiceError 429 if they can probably not be parsed by the deadline beside others, 503 if
        the parser cannot be started now."""
        if await self._started():
            raise unavailable("parser-failed", BROKEN, math.ceil(_AGAIN_SECONDS))
        sizes = [min(_MOST_AT_ONCE, size) for size in self._sizes]
        # Parsers share the small first batches.
        each = itertools.chain.from_iterable([size] * len(self._lanes) for size in sizes)
        parse = Parse(client, sentences, self._changed)
        parse.sizes = itertools.chain(each, itertools.repeat(sizes[-1]))
        parse.size = next(parse.sizes)
        self._check_room(parse, deadline - time.monotonic())
        with self._changed:
            if self._is_closed:
                raise draining()
            self._requests.add(parse)
            self._changed.notify_all()
        try:
            yield parse
        finally:
            parse.cancellation.cancel()
            with self._changed:
                self._requests.remove(parse)

    def _check_room(self, parse: Parse, seconds: float) -> None:
        """Raises ServiceError 429 if it will probably take longer than so many seconds."""
        waiting = [(other.client, other.words) for other in self._requests]
        if not waiting:
            return
        words = parse.words + amount_ahead(parse.client, parse.words, waiting)
        each = self._seconds_a_word / self._settings.parsers
        if words * each > _WAITING_SHARE * seconds:
            raise overloaded(sum(words for _, words in waiting) * each)

    def drop_all(self) -> None:
        """Requests that are being parsed are answered 503."""
        for parse in self._requests:
            parse.fail(draining())

    def close(self) -> None:
        """End the child and its parsers for good."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._child.close(_ENDING_SECONDS)

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
            await asyncio.to_thread(self._try_here)
            return ""
        except (RerankError, MemoryError) as error:
            reason = str(error)
        except Lost as error:
            if self._is_closed:
                raise draining() from error
            reason = f"{error.description['error']}: {error.description.get('message', '')}"
            reason = reason.removesuffix(": ")
        finally:
            self._attempt = None
        _LOGGER.warning("no parser", reason=reason)
        await asyncio.to_thread(self._child.end, _ENDING_SECONDS)
        self._not_before = time.monotonic() + _AGAIN_SECONDS
        return reason

    def _try_here(self) -> None:
        process = self._child.started()
        self._sizes = process.reply(None)
        self._tried = process

    def _ended(self, why: Lost) -> None:
        self._metrics.child_restarts.labels("parsing").inc()
        if why.has_hung:
            self._metrics.hung_children.labels("parsing").inc()
        if len(self._requests):
            _LOGGER.error("parsing crashed", **why.description)

    # What follows runs in threads, one for each parser.

    def _run(self, lane: _Lane) -> None:
        while (begun := self._next(lane)) is not None:
            parse, begin, batch = begun
            try:
                self._parse(lane, parse, begin, batch)
            except Stopped:
                pass
            except ServiceError as error:
                parse.fail(error)
            except BaseException as error:
                if not isinstance(error, Lost):
                    _LOGGER.error("parsing crashed", **described(error))
                message = "the process that parses texts died; it is restarted"
                failed = unavailable("parser-crashed", message)
                parse.fail(draining() if self._is_closed else failed)
            with self._changed:
                lane.parse = None
                self._changed.notify_all()
            del begun, parse, batch

    def _next(self, lane: _Lane) -> tuple[Parse, int, Sequence[TextSentence]] | None:
        """Wait for sentences: whose they are, the place of the first, and a batch of them; None
        once all is closed."""
        with self._changed:
            while not self._is_closed:
                parse = self._requests.next(lambda parse: parse.waits)
                # A parser is loaded when all before it are busy, and not sooner.
                if parse is not None and all(each.parse for each in self._lanes[: lane.number]):
                    begin = parse.given
                    batch = parse.sentences[begin : begin + parse.size]
                    parse.given += len(batch)
                    parse.size = next(parse.sizes)
                    self._requests.charge(parse, _words(batch) + len(batch))
                    lane.parse = parse
                    self._changed.notify_all()  # for lanes that waited since this one was free
                    return parse, begin, batch
                self._changed.wait()
            return None

    def _parse(self, lane: _Lane, parse: Parse, begin: int, batch: Sequence[TextSentence]) -> None:
        started = time.monotonic()
        replies = self._child.started().replies(batch, parse.cancellation, lane.number)
        for is_last, value in replies:
            if is_last:
                with self._changed:
                    lane.parse = None  # free before its client can ask for more
                    self._changed.notify_all()
                self._learn((time.monotonic() - started) / len(batch), batch)
                parse.finish(begin, value)
            else:
                for fault in value:
                    _LOGGER.error("the parser failed", **fault)

    def _learn(self, seconds: float, batch: Sequence[TextSentence]) -> None:
        """Update the estimate of the time a word takes."""
        for _ in batch:
            self._metrics.parser_seconds.observe(seconds)
        each = seconds * len(batch) / max(1, _words(batch))
        self._seconds_a_word += 0.1 * (each - self._seconds_a_word)


def _words(batch: Sequence[TextSentence]) -> int:
    return sum(len(each.sentence.words) for each in batch)
