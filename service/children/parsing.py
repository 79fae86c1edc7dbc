"""The process in which other parsers than the built-in one are asked, as the service sees it.
``parsing_main`` is what runs there, with parsers in processes of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from subprocess import TimeoutExpired
from typing import Any

import structlog

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.service.children.child import Beside, Lost, Running
from reranker.service.children.parse_queue import NOBODY
from reranker.service.children.reasons import BROKEN
from reranker.service.errors import ServiceError, draining, overloaded, unavailable
from reranker.service.metrics import Metrics
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.parsing")

# Largest expected time, as a share of that to the deadline, beside others: it is only an estimate.
_WAITING_SHARE = 0.8

# How long the process has to end its parsers.
_ENDING_SECONDS = 0.5

# After a parser could not be started, whoever asks sooner is told so at once.
_AGAIN_SECONDS = 5.0


class Parse:
    """A request's way through the parsing process; for the event loop."""

    def __init__(
        self, process: ParsingProcess, number: int, client: str, sentences: Sequence[TextSentence]
    ) -> None:
        self.client = client
        self.words = sum(len(each.sentence.words) for each in sentences)
        """Those that have not been parsed yet."""
        self.sentences = self._all = len(sentences)
        """The same of sentences."""
        self._process, self._number = process, number
        self._lists: deque[NBest] = deque()
        self._error: ServiceError | None = None
        self._changed = asyncio.Event()
        self._taken = 0

    async def lists(self) -> list[NBest]:
        """The lists that are there now, in order, at least one; none after the last. Raises
        ServiceError."""
        if self._taken == self._all:
            return []
        await self._process.send("scored", self._number, self._taken)
        while not self._lists:
            await self._next_change()
        lists = list(self._lists)
        self._lists.clear()
        self._taken += len(lists)
        return lists

    async def _next_change(self) -> None:
        if self._error is not None:
            raise self._error
        await self._changed.wait()
        self._changed.clear()

    def receive(self, kind: str, value: Any) -> None:
        """A reply of the process."""
        if kind == "list":
            nbest, _ = value
            self.words -= len(nbest.words)
            self.sentences -= 1
            self._lists.append(nbest)
        else:
            status, code, message, param = value
            self._error = ServiceError(status, code, message, param, retry_after=5)
        self._changed.set()

    def fail(self, error: ServiceError) -> None:
        self._error = error
        self._changed.set()


class ParsingProcess:
    """Starts the process at once, or when it is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._beside = Beside("reranker.service.children.parsing_main", 1)
        self._numbers = itertools.count(NOBODY + 1)
        self._active: dict[int, Parse] = {}
        self._starting = asyncio.Lock()
        self._running: Running | None = None
        self._answer: asyncio.Future[str] | None = None
        """Why what was started last has no parser that works; empty if it has."""
        self._not_before = 0.0
        """When to start it again, by time.monotonic()."""
        self._loop: asyncio.AbstractEventLoop | None = None
        # Orders in their order; a long body takes as long as the process takes to read it.
        self._sender = ThreadPoolExecutor(1, "orders to parsers")
        self._seconds_a_word = 0.0  # of one parser, learned
        names = settings.parser_choice.names
        self.is_there = "bllip" not in names or bool(importlib.util.find_spec("bllipparser"))
        """Whether there is a parser, though it may not work."""

    @property
    def memory(self) -> float:
        """Bytes that the process holds, parsers not counted."""
        return self._beside.memory

    @property
    def sentences(self) -> int:
        """Those that wait for a parser or are being parsed."""
        return sum(parse.sentences for parse in self._active.values())

    async def start(self) -> None:
        """See whether the parser that the settings name works; raises RerankError."""
        if self._settings.has_parser and (reason := await self._started()):
            raise RerankError(reason)

    async def warm_up(self) -> None:
        """Load the parser, if there is one, so that the first request does not wait for that; if
        it does not work, the log says so."""
        if self.is_there:
            with suppress(ServiceError):  # the service ends
                await self._started()

    @asynccontextmanager
    async def parse(
        self, sentences: Sequence[TextSentence], client: str, deadline: float
    ) -> AsyncIterator[Parse]:
        """Have sentences parsed; what is under way of them when this ends is cancelled. Raises
        ServiceError 429 if they can probably not be parsed by the deadline beside others, 503 if
        the parser cannot be started now."""
        if await self._started():
            raise unavailable("parser-failed", BROKEN, math.ceil(_AGAIN_SECONDS))
        number = next(self._numbers)
        parse = Parse(self, number, client, sentences)
        self.check_room(parse, deadline - time.monotonic())
        self._active[number] = parse
        try:
            await self.send("parse", number, client, sentences)
            yield parse
        finally:
            del self._active[number]
            self._sender_submit("cancel", number)

    def check_room(self, parse: Parse, seconds: float) -> None:
        """Raises ServiceError 429 if it will probably take longer than so many seconds, given that
        clients take turns, and so do a client's requests."""
        others = [other for other in self._active.values() if other is not parse]
        before = sum(other.words for other in others)
        if not before:
            return
        clients = {other.client for other in others} | {parse.client}
        own = [other.words for other in others if other.client == parse.client]
        of_client = parse.words + min(sum(own), len(own) * parse.words)
        words = parse.words + min(before, len(clients) * of_client - parse.words)
        each = self._seconds_a_word / self._settings.parsers
        if words * each > _WAITING_SHARE * seconds:
            raise overloaded(min(600, 1 + int(before * each)))

    def drop_all(self) -> None:
        """Requests that are being parsed are answered 503."""
        for parse in self._active.values():
            parse.fail(draining())

    async def send(self, *order: object) -> None:
        """Raises ServiceError 503 if the process has ended."""
        try:
            await asyncio.wrap_future(self._sender.submit(self._send, order))
        except (OSError, RuntimeError):
            raise _crashed() from None

    def close(self) -> None:
        """End the process and its parsers for good."""
        self._end()
        self._sender.shutdown(wait=False)
        self._beside.close()

    def _end(self) -> None:
        """Let the process end its parsers and tidy up, then end it."""
        self._sender_submit("end")
        if (running := self._beside.running) is not None:
            with suppress(TimeoutExpired):
                running.process.wait(_ENDING_SECONDS)
        self._beside.end()

    def _sender_submit(self, *order: object) -> None:
        with suppress(RuntimeError):  # the service has stopped
            self._sender.submit(self._quietly, order)

    def _quietly(self, order: tuple[object, ...]) -> None:
        with suppress(OSError):
            self._send(order)

    def _send(self, order: tuple[object, ...]) -> None:
        if self._running is None:
            raise OSError("not running")
        self._running.lines[0].send(order)

    async def _started(self) -> str:
        """Start the process unless it runs. Why there is no parser that works now, or nothing."""
        async with self._starting:
            if self._running is None or not self._running.is_alive:
                if time.monotonic() < self._not_before:
                    return BROKEN
                await self._start_process()
            assert self._answer is not None
            # Whoever comes next waits for it, too, if this request is cancelled.
            reason = await asyncio.shield(self._answer)
            if reason:
                _LOGGER.warning("no parser", reason=reason)
                await asyncio.to_thread(self._end)
                self._not_before = time.monotonic() + _AGAIN_SECONDS
            return reason

    async def _start_process(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running = None  # the end of the one before is not that of this one
        self._answer = self._loop.create_future()
        try:
            running = await asyncio.to_thread(self._beside.start)
        except Lost as error:
            raise draining() from error
        self._running = running
        threading.Thread(
            target=self._receive, args=(running, self._loop), daemon=True, name="parsed lists"
        ).start()

    def _receive(self, running: Running, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: what the process sends, until it ends. It is told the settings here, where
        no request that is cancelled can prevent it."""
        with suppress(OSError):  # it has ended, which is seen below
            running.lines[0].send(self._settings)
        with suppress(RuntimeError):  # the event loop has been closed
            try:
                while True:
                    reply = running.lines[0].recv()
                    loop.call_soon_threadsafe(self._take, *reply)
            except (EOFError, OSError):
                loop.call_soon_threadsafe(self._lost, running, running.lost())

    def _take(self, number: int, kind: str, value: Any) -> None:
        if number != NOBODY:
            if kind == "list":
                nbest, seconds = value
                self._learn(seconds, len(nbest.words))
            if parse := self._active.get(number):
                parse.receive(kind, value)
        elif kind == "log":
            _LOGGER.error("the parser failed", **value)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(value)

    def _learn(self, seconds: float, words: int) -> None:
        self._metrics.parser_seconds.observe(seconds)
        self._seconds_a_word += 0.1 * (seconds / max(1, words) - self._seconds_a_word)

    def _lost(self, running: Running, why: Lost) -> None:
        if self._running is not running:  # another has been started since
            return
        self._running = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(str(why))
        for parse in self._active.values():
            parse.fail(_crashed())
        if self._active:
            _LOGGER.error("parsing crashed", **why.description)


def _crashed() -> ServiceError:
    message = "the process that parses texts died; it is restarted"
    return unavailable("parser-crashed", message)
