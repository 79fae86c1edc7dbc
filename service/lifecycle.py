"""The running service: its models and its queue; how it starts, reloads and stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import math
import time
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

import structlog
from fastapi import Depends, Request

from reranker.errors import RerankError
from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Origin, Sentence
from reranker.process.cancellation import Cancellation
from reranker.process.memory import return_freed_memory
from reranker.ranking import Scored
from reranker.service.children.child import resident_memory
from reranker.service.children.faults import described
from reranker.service.children.parsing import ParsingProcess
from reranker.service.children.reading import ReadingProcesses
from reranker.service.children.scoring import Models, Served
from reranker.service.errors import ServiceError, draining, overloaded, too_often, unavailable
from reranker.service.fairness import Rate, Shares
from reranker.service.keys import Keys
from reranker.service.metrics import Metrics
from reranker.service.requests.bodies import BodyBytes
from reranker.service.requests.readings import Order, Piece, Reading
from reranker.service.scheduling.work import Work
from reranker.service.scheduling.worker import ScoringThreads
from reranker.service.settings import Settings
from reranker.service.threads import ReadingThreads
from reranker.text.reading import TextSentence

if TYPE_CHECKING:
    from reranker import Reranker

_LOGGER = structlog.get_logger("rerank.service")

T = TypeVar("T")

# Bytes of a body that takes longer than some 10 ms to read.
_LONG_BODY = 100_000
_THREADS = 2  # of each kind

_RETURNING_SECONDS = 10.0


@dataclass(frozen=True)
class Loaded:
    """What a reload replaces."""

    keys: Keys
    reranker: Served

    @property
    def fingerprint(self) -> str:
        """The same in two processes if their answers are."""
        hashes = ",".join(member.sha256 for member in self.reranker.members)
        if isinstance(self.reranker, Models):
            hashes += f" {self.reranker.parser}"
        return f"{hashes} {self.reranker.signature(self.reranker.weighing)}"


class Supervisor(Protocol):
    """What a service that is one of several processes asks of their parent."""

    async def join(self, loaded: Loaded) -> None:
        """Wait until the parent has ``loaded`` put in use."""

    async def reload(self) -> None:
        """Reload in all processes; raises ServiceError 409 if that fails: then none has."""


class Service:
    """One for each application."""

    def __init__(self, reranker: Reranker | None, settings: Settings) -> None:
        """Without a ``reranker``, ``start`` loads the one that the settings name, in a process of
        its own."""
        self.settings = settings
        self.metrics = Metrics()
        self.keys = Keys(settings)
        self.reranker: Served | None = None
        """None until it has scored something."""
        self.is_draining = False
        self.failure: RerankError | None = None
        """Why the models could not be loaded at the start."""
        self.supervisor: Supervisor | None = None
        """None if this is the only process."""
        self._given: Served | None = reranker
        self._worker = ScoringThreads(settings, self.metrics, is_here=reranker is not None)
        is_built_in = settings.has_built_in_parser and self._worker.process is not None
        self.parsing = None if is_built_in else ParsingProcess(settings, self.metrics)
        """For other parsers than the built-in one, which is where scores are computed."""
        self._reloading = asyncio.Lock()
        self._shares = Shares(settings.queue_requests)
        self._rate = Rate(settings.client_rate)
        # These prepare requests and write answers; long ones do not hold up short ones.
        self._pool = ReadingThreads(_THREADS, "requests", self.metrics)
        self._long_pool = ReadingThreads(_THREADS, "long requests", self.metrics)
        # These wait for processes that read bodies, and so hold up nothing else.
        self._bodies = ReadingThreads(_THREADS, "bodies", self.metrics)
        self._long_bodies = ReadingThreads(_THREADS, "long bodies", self.metrics)
        self._freeing: asyncio.Task[None] | None = None
        self._returning: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._reading = ReadingProcesses(settings, _THREADS)
        self._counting = ThreadPoolExecutor(1, "counting")
        self._numbers = itertools.count()
        self._tokens_per_byte = 0.1  # of long bodies, learned
        self.body_bytes = BodyBytes(settings)
        self.metrics.in_flight.set_function(lambda: self.in_flight)
        self.metrics.ready.set_function(lambda: self.is_ready)
        self.metrics.device_memory.set_function(lambda: self._worker.device_memory)
        self.metrics.memory.labels("answering").set_function(resident_memory)
        self.metrics.memory.labels("reading").set_function(lambda: self._reading.memory)
        if (parsing := self.parsing) is not None:
            self.metrics.memory.labels("parsing").set_function(lambda: parsing.memory)
        self.metrics.parsing_sentences.set_function(lambda: self.unparsed_sentences)
        if (process := self._worker.process) is not None:
            self.metrics.memory.labels("scoring").set_function(lambda: process.memory)
        for name, value in settings.limits.items():
            self.metrics.limit.labels(name).set(value)

    async def start(self) -> None:
        """Load and warm up; on failure, ``failure`` says why."""
        try:
            await self._start()
        except RerankError as error:
            self.failure = None if self.is_draining else error
        except Exception as error:
            _LOGGER.error("the service cannot start", **described(error, with_text=True))
            self.failure = RerankError(f"the service cannot start: {error}")

    async def _start(self) -> None:
        reading = asyncio.to_thread(self._reading.start)
        given, _, _ = await asyncio.gather(self._loaded(), self._start_parsing(), reading)
        self._worker.start(self._first_work)
        while not self._worker.is_ready and self.is_alive:
            await asyncio.sleep(0.01)
        if not self.is_alive:
            raise RerankError("the models could not score a first list; the log says why")
        _collect_garbage_bit_by_bit()
        self._returning = asyncio.create_task(_return_freed_memory())
        loaded = Loaded(self.keys, given)
        if self.supervisor is None:
            self.switch(loaded)
        else:
            await self.supervisor.join(loaded)
        if self.parsing is not None:
            self._warming = asyncio.create_task(self.parsing.warm_up())
        _LOGGER.info("ready", models=[member.name for member in given.members])

    async def _start_parsing(self) -> None:
        if self.parsing is not None:
            await self.parsing.start()

    async def _loaded(self) -> Served:
        if self._given is None:
            self._given = await asyncio.to_thread(self._load)
        return self._given

    def _load(self) -> Served:
        """The models that the settings name; raises RerankError."""
        if (process := self._worker.process) is not None:
            return process.load()
        from reranker import Reranker

        return Reranker.load(**self.settings.loading)

    def _first_work(self) -> list[Work]:
        """For the scoring thread, now and after a crash."""
        reranker = self.reranker or self._given
        assert reranker is not None
        return _warm_up(reranker, self.settings)

    async def stop(self) -> None:
        """Stop scoring; requests that still wait are answered 503."""
        for task in (self._returning, self._warming):
            if task is not None:
                task.cancel()
        await asyncio.to_thread(self._worker.stop)
        for pool in (self._pool, self._long_pool, self._bodies, self._long_bodies, self._counting):
            pool.shutdown(wait=False, cancel_futures=True)
        closing = [self._reading.close] + ([self.parsing.close] if self.parsing else [])
        await asyncio.gather(*map(asyncio.to_thread, closing))

    async def drain(self) -> None:
        """Refuse new requests and wait for those accepted, no longer than the settings say."""
        self.is_draining = True
        until = time.monotonic() + self.settings.drain_seconds
        await asyncio.sleep(min(self.settings.linger_seconds, self.settings.drain_seconds))
        while self.in_flight and time.monotonic() < until:
            await asyncio.sleep(0.02)
        _LOGGER.info("drained", unfinished=self.in_flight)
        if self.parsing is not None:
            self.parsing.drop_all()
        await asyncio.to_thread(self._worker.stop)

    @property
    def is_alive(self) -> bool:
        return not self._worker.is_hopeless

    @property
    def is_ready(self) -> bool:
        """Whether a request could be scored now."""
        return self._worker.is_ready and self.reranker is not None and not self.is_draining

    def check_ready(self) -> None:
        """Raises ServiceError 503 if a request could not be scored now."""
        self.current()
        if not self._worker.is_ready:
            raise self._worker.crashed()

    def current(self) -> Served:
        """The models; raises ServiceError 503 before they are loaded and when draining."""
        if self.is_draining:
            raise draining(retry_after=5)
        if self.reranker is None:
            raise unavailable("loading", "the models are being loaded", retry_after=2)
        return self.reranker

    @property
    def has_parser(self) -> bool:
        """Whether there is a parser, though it may not work."""
        if self.parsing is not None:
            return self.parsing.is_there
        return isinstance(self.reranker, Models) and self.reranker.parser is not None

    @property
    def unparsed_sentences(self) -> int:
        """Those that wait for a parser or are being parsed."""
        if self.parsing is not None:
            return self.parsing.sentences
        return self._worker.queue.sentences

    @property
    def work_seconds(self) -> float:
        """How long it will probably take to score all requests that are there."""
        return self._worker.queue.work_seconds

    @contextlib.contextmanager
    def visit(self, client: str) -> Iterator[Served]:
        """Count a request while it is being answered; gives the models for its answer. Raises
        ServiceError 503, or 429 if the client has too many, or asks too often."""
        reranker = self.current()
        if not self._shares.has_room(client, 1):
            raise overloaded(self._worker.queue.seconds_to_wait)
        if seconds := self._rate.seconds_to_wait(client):
            raise too_often(math.ceil(seconds))
        self._shares.take(client, 1)
        try:
            yield reranker
        finally:
            self._shares.give_back(client, 1)

    @property
    def in_flight(self) -> int:
        """Requests accepted and not yet answered."""
        return int(self._shares.total)

    async def in_thread(self, function: Callable[[Cancellation], T], size: int = 0) -> T:
        """Run what would block the event loop, in time that grows with the ``size`` of a body; it
        should look at its argument now and then."""
        return await _in_thread(self._pool if size < _LONG_BODY else self._long_pool, function)

    @contextlib.contextmanager
    def counting(self, media: str) -> Iterator[Callable[[bytearray, bytes], Awaitable[None]]]:
        """Gives what counts a body while it arrives, once it is long: it takes what there is and
        the last piece of it, and raises ServiceError."""
        number, has_begun = next(self._numbers), False

        async def count(body: bytearray, piece: bytes) -> None:
            nonlocal has_begun
            if len(body) >= _LONG_BODY:
                new = Piece(number, media, piece if has_begun else bytes(body), not has_begun)
                has_begun = True
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._counting, self._reading.count, new)

        try:
            yield count
        finally:
            if has_begun:
                with contextlib.suppress(RuntimeError):  # the service has stopped
                    self._counting.submit(self._reading.count, Piece(number, is_last=True))

    async def read(self, order: Order) -> Reading:
        """What is in a body; raises ServiceError."""
        is_long = len(order.body) >= _LONG_BODY
        pool = self._long_bodies if is_long else self._bodies
        return await _in_thread(pool, partial(self._reading.read, order, is_long=is_long))

    async def work(
        self,
        reranker: Served,
        lists: Sequence[NBest],
        deadline: float,
        client: str,
        token_scores: bool,
        size: int,
        is_admitted: bool = False,
        sentences: Sequence[TextSentence] = (),
    ) -> Work:
        """What there is to score, or to parse first, for ``scores``; ``size`` is the body's."""
        most, candidates = self._worker.queue.piece_tokens, self.settings.candidates

        def make(_: Cancellation) -> Work:
            return Work(
                reranker, lists, deadline, client, token_scores, most, sentences, candidates,
                is_admitted=is_admitted,
            )  # fmt: skip

        work = await self.in_thread(make, size)
        if size >= _LONG_BODY:
            self._tokens_per_byte += 0.3 * (work.tokens / size - self._tokens_per_byte)
        return work

    def has_room(self, work: Work) -> bool:
        """Whether the queue has room for it now."""
        return self._worker.queue.has_room(work.client, work.tokens)

    def expect(self, size: int, client: str, deadline: float) -> None:
        """Raises ServiceError 429 for a long body that would probably be refused after all: reading
        it takes time from others."""
        if size >= _LONG_BODY:
            tokens = int(self._tokens_per_byte * size)
            self._worker.queue.check_room(client, tokens, deadline)

    def scores(self, work: Work) -> AsyncGenerator[list[Scored]]:
        """The scores of each list, in order; raises ServiceError."""
        return self._worker.score(work)

    async def reload(self) -> Served:
        """Load models and keys again, here and in processes beside this one; requests already
        accepted are answered with the old models.

        Raises ServiceError 409 if that fails; the old models stay.
        """
        async with self._reloading:
            if self.supervisor is not None:
                await self.supervisor.reload()
            else:
                try:
                    loaded = await self.load_again()
                except ServiceError:
                    self.metrics.reloads.labels("failed").inc()
                    raise
                self.switch(loaded)
                self.metrics.reloads.labels("done").inc()
            return self.current()

    async def load_again(self) -> Loaded:
        """What ``switch`` takes, tried out; raises ServiceError 409."""
        try:
            keys = Keys(self.settings)
            reranker = await asyncio.to_thread(self._load)
            if isinstance(reranker, Models) and reranker.no_parser and self.has_parser:
                raise RerankError(reranker.no_parser)
            for work in _warm_up(reranker, self.settings):
                async for _ in self._worker.score(work):
                    pass
        except (RerankError, ServiceError) as error:
            _LOGGER.error("models not reloaded", **described(error, with_text=True))
            raise ServiceError(409, "reload-failed", self._without_paths(str(error))) from error
        return Loaded(keys, reranker)

    def switch(self, loaded: Loaded) -> None:
        """Answer requests from now on with these models and keys."""
        old = self.reranker
        self.keys, self.reranker, self._given = loaded.keys, loaded.reranker, None
        self.metrics.use_models(loaded.reranker)
        if old is not None:
            self._freeing = asyncio.create_task(self._free(weakref.ref(old)))
            hashes = [member.sha256 for member in loaded.reranker.members]
            _LOGGER.info("models reloaded", models=hashes)

    async def _free(self, models: weakref.ref[Served]) -> None:
        """Give their memory back to the system once the last answer with them has been written."""
        while models() is not None:
            await asyncio.sleep(0.2)
        if (process := self._worker.process) is not None:
            await asyncio.to_thread(process.forget_unused)
        await asyncio.to_thread(return_freed_memory)

    def _without_paths(self, message: str) -> str:
        for name in (*self.settings.models, str(self.settings.api_keys_file)):
            message = message.replace(f"{Path(name).parent}/", "")
        return message


async def _in_thread(pool: ThreadPoolExecutor, function: Callable[[Cancellation], T]) -> T:
    """What the function returns there; it should look at its argument now and then."""
    cancellation = Cancellation()
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, function, cancellation)
    finally:
        cancellation.cancel()


def _collect_garbage_bit_by_bit() -> None:
    """Nothing else runs meanwhile, and /health/live waits, too. So what is new is looked at often,
    while it is little, and what has been there for long, such as lists that wait, next to never."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 5, 100)


async def _return_freed_memory() -> None:
    """What bodies and answers held in small pieces grows for hours otherwise."""
    while True:
        await asyncio.sleep(_RETURNING_SECONDS)
        await asyncio.to_thread(return_freed_memory)


def _warm_up(reranker: Served, settings: Settings) -> list[Work]:
    """What is scored before the first real list, and tells the speed: 50 trees of 20 words, and
    one of a word; and a text, where it is parsed, too."""
    phrases = ["(NP (DT the) (NN cat))"] * 10
    trees = (
        f"(S1 (S {' '.join(phrases[:first])} (VP {' '.join(phrases[first:last])}) "
        f"{' '.join(phrases[last:])}))"
        for first in range(10)
        for last in range(first + 1, 11)
    )
    lists = [from_candidates([*trees][:50]), from_candidates(["(S1 (NN cat))"])]
    deadline = time.monotonic() + settings.max_request_seconds
    works = [Work(reranker, lists, deadline, is_warm_up=True)]
    if isinstance(reranker, Models) and reranker.parser is not None:
        sentence = Sentence.of(
            ["When", "the", "cat", "sat", "on", "the", "mat", ",", "a", "dog", "came", "in", "."]
        )
        text = [TextSentence(sentence, Origin("", 0, "", ()))]
        works.append(Work(reranker, (), deadline, sentences=text, is_warm_up=True))
    return works


async def _of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(_of)]
"""The service, as a parameter of a route."""
