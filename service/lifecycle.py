"""The running service: its models, children and queue; how it starts, reloads and stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import structlog

from reranker.errors import RerankError
from reranker.process.cancellation import Cancellation
from reranker.process.machine import RETURNING_SECONDS, return_freed_memory
from reranker.service.children.child import resident_memory
from reranker.service.children.scoring import Best, Models
from reranker.service.errors import Lost, RequestError, described, draining, unavailable
from reranker.service.fairness import BodyBytes, Rate, Shares, overloaded, too_often
from reranker.service.keys import Keys
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Contents
from reranker.service.scheduling.engines import Engines
from reranker.service.scheduling.readers import LONG_BODY, Readers
from reranker.service.scheduling.work import Work
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.service")

T = TypeVar("T")

# Threads that prepare scoring and write answers, for short requests and as many for long ones.
_THREADS = 2


# How long new requests are answered 503, at least, before connections are closed.
_LINGER_SECONDS = 0.5


class Service:
    """The state that all requests of an application share."""

    def __init__(self, settings: Settings) -> None:
        """Prepare the parts of the service; raises InputError if keys cannot be read."""
        self.settings = settings
        self.metrics = Metrics()
        self.keys = Keys(settings)
        self.models: Models | None = None
        """The models; None until they have scored something."""
        self.is_draining = False
        self.failure: RerankError | None = None
        """The error if the models could not be loaded at the start."""
        self._first: Models | None = None  # until they are in use
        self.engines = Engines(settings, self.metrics)
        self.readers = Readers(settings, self.metrics)
        self._reloading = asyncio.Lock()
        self._shares = Shares(settings.queue_requests)
        self._rate = Rate(settings.client_rate)
        self._pool = ThreadPoolExecutor(_THREADS, "requests")
        self._long_pool = ThreadPoolExecutor(_THREADS, "long requests")
        self._tasks: set[asyncio.Task[None]] = set()
        self._tokens_per_byte = 0.1  # of long bodies, learned
        self.body_bytes = BodyBytes(settings.queue_bytes)
        self._describe()

    def _describe(self) -> None:
        metrics, engines = self.metrics, self.engines
        metrics.in_flight.set_function(lambda: self.in_flight)
        metrics.ready.set_function(lambda: self.is_ready)
        metrics.engines_ready.set_function(lambda: engines.ready)
        metrics.device_memory.set_function(lambda: engines.device_memory)
        metrics.memory.labels("answering").set_function(resident_memory)
        pools = self.readers.pools
        metrics.memory.labels("reading").set_function(lambda: sum(pool.memory for pool in pools))
        metrics.memory.labels("scoring").set_function(lambda: engines.memory)
        metrics.parsing_sentences.set_function(lambda: engines.queue.sentences)
        for name, value in self.settings.limits.items():
            metrics.limit.labels(name).set(value)

    async def start(self) -> None:
        """Load the models and warm up; ``failure`` is the error if that fails."""
        try:
            await self._start()
        except RerankError as error:
            self.failure = None if self.is_draining else error
        except Exception as error:
            if not self.is_draining:
                _LOGGER.error("the service cannot start", **described(error, with_text=True))
                self.failure = RerankError(f"the service cannot start: {error}")

    async def _start(self) -> None:
        loading = asyncio.create_task(asyncio.to_thread(self.engines.load))
        await asyncio.gather(loading, self.readers.start())
        self._first = models = loading.result()
        self.engines.start(lambda: self.models or self._first)
        while not self.engines.is_settled:
            await asyncio.sleep(0.01)
        if self.engines.ready < self.settings.engines:
            raise RerankError("the models could not score a first list; see the log")
        _collect_garbage_bit_by_bit()
        self.run(_return_freed_memory())
        self._switch(self.keys, models)
        if models.no_parser:
            _LOGGER.warning("no parser: /parse is answered 501", reason=models.no_parser)
        _LOGGER.info("ready", models=[member.name for member in models.members])

    async def stop(self) -> None:
        """Stop scoring; requests that still wait are answered 503."""
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self.engines.stop)
        for threads in (self._pool, self._long_pool):
            threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.gather(*(asyncio.to_thread(pool.close) for pool in self.readers.pools))

    async def drain(self) -> None:
        """Refuse new requests, and wait for accepted ones for at most ``drain_seconds``."""
        self.is_draining = True
        until = time.monotonic() + self.settings.drain_seconds
        await asyncio.sleep(min(_LINGER_SECONDS, self.settings.drain_seconds))
        while self.in_flight and time.monotonic() < until:
            await asyncio.sleep(0.02)
        _LOGGER.info("drained", unfinished=self.in_flight)
        await asyncio.to_thread(self.engines.stop)

    @property
    def is_alive(self) -> bool:
        """Return whether scoring can go on, now or once the engines are restarted."""
        return not self.engines.is_hopeless

    @property
    def is_ready(self) -> bool:
        """Return whether a request could be scored now."""
        return bool(self.engines.ready) and self.models is not None and not self.is_draining

    def check_ready(self) -> None:
        """Raise RequestError 503 if a request could not be scored now."""
        self.current()
        if not self.engines.ready:
            raise self.engines.crashed()

    def current(self) -> Models:
        """Return the models; raises RequestError 503 before they are loaded and when draining."""
        if self.is_draining:
            raise draining(retry_after=5)
        if self.models is None:
            raise unavailable("loading", "the models are being loaded", retry_after=2)
        return self.models

    @property
    def has_parser(self) -> bool:
        """Return whether texts can be parsed."""
        return self.models is not None and self.models.parser is not None

    @property
    def work_seconds(self) -> float:
        """Estimate the seconds until all accepted requests have been scored."""
        return self.engines.queue.work_seconds

    @contextlib.contextmanager
    def visit(self, client: str) -> Iterator[Models]:
        """Count a request while it is being answered, and yield the models for its answer. Raises
        RequestError 503, or 429 if the client has too many requests or asks too often."""
        models = self.current()
        if not self._shares.has_room(client, 1):
            raise overloaded(self.work_seconds)
        if seconds := self._rate.seconds_to_wait(client):
            raise too_often(seconds)
        self._shares.take(client, 1)
        try:
            yield models
        finally:
            self._shares.give_back(client, 1)

    @property
    def in_flight(self) -> int:
        """Return the number of requests accepted and not yet answered."""
        return int(self._shares.total)

    async def in_thread(self, function: Callable[[Cancellation], T], size: int = 0) -> T:
        """Run a function that would block the event loop, in a thread; its time grows with the
        ``size`` of a body. The function should look at its argument now and then."""
        pool, cancellation = self._pool if size < LONG_BODY else self._long_pool, Cancellation()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, function, cancellation)
        finally:
            cancellation.cancel()

    def expect(self, size: int, client: str, deadline: float) -> None:
        """Raise RequestError 429 for a long body that would probably be refused after it was read,
        since reading takes time from others."""
        if size >= LONG_BODY:
            tokens = int(self._tokens_per_byte * size)
            self.engines.queue.check_room(client, tokens, deadline)

    async def work(
        self,
        contents: Contents,
        models: Models,
        deadline: float,
        size: int,
        client: str,
        best: Best | None,
        is_certainty_wanted: bool,
    ) -> Work:
        """Return the lists to score, or the sentences to parse first, of a body of ``size``
        bytes."""

        def made(_: Cancellation) -> Work:
            return Work(
                models,
                contents.lists,
                deadline,
                client,
                getattr(contents.asked, "return_token_scores", False),
                self.engines.queue.costs.piece_tokens,
                contents.sentences,
                self.settings.candidates,
                best,
                is_certainty_wanted,
            )

        work = await self.in_thread(made, size)
        if size >= LONG_BODY and contents.lists:
            self._tokens_per_byte += 0.3 * (work.tokens / size - self._tokens_per_byte)
        return work

    async def reload(self, may_shrink: bool = False) -> Models:
        """Load models and keys again, in all engines; requests already accepted are answered with
        the old models.

        Raises RequestError 409 if that fails, or if there are fewer models than before unless that
        is allowed (``may_shrink``); the old models stay.
        """
        async with self._reloading:
            try:
                keys = Keys(self.settings)
                models = await asyncio.to_thread(self.engines.load)
                self._check_reloaded(models, may_shrink)
                await asyncio.to_thread(self.engines.try_out, models)
            except (RerankError, RequestError, Lost, MemoryError) as error:
                self.metrics.reloads.labels("failed").inc()
                _LOGGER.error("models not reloaded", **described(error, with_text=True))
                message = self._without_paths(str(error))
                raise RequestError(409, "reload-failed", message) from error
            self._switch(keys, models)
            self.metrics.reloads.labels("done").inc()
            return models

    def _check_reloaded(self, models: Models, may_shrink: bool) -> None:
        """Raise RerankError if the new models lack a parser or a member."""
        if models.no_parser and self.has_parser:
            raise RerankError(models.no_parser)
        before = self.current().members
        if len(models.members) < len(before) and not may_shrink:
            raise RerankError(
                f"there are {len(models.members)} models now and {len(before)} in use; "
                "reload with fewer=true to use fewer"
            )

    def _switch(self, keys: Keys, models: Models) -> None:
        """Answer requests from now on with these models and keys."""
        old, self.keys, self.models, self._first = self.models, keys, models, None
        self.metrics.use_models(models)
        if old is not None:
            self.run(self._free(weakref.ref(old)))
            hashes = [member.sha256 for member in models.members]
            _LOGGER.info("models reloaded", models=hashes)

    async def _free(self, models: weakref.ref[Models]) -> None:
        """Give the memory of models back once the last answer with them has been written."""
        while models() is not None:
            await asyncio.sleep(0.2)
        await asyncio.to_thread(self.engines.forget_unused)
        await asyncio.to_thread(return_freed_memory)

    def run(self, job: Coroutine[None, None, None]) -> None:
        """Run a job beside requests; the job is cancelled when the service stops."""
        task = asyncio.create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _without_paths(self, message: str) -> str:
        for name in (*self.settings.models, str(self.settings.api_keys_file)):
            message = message.replace(f"{Path(name).parent}/", "")
        return message


def _collect_garbage_bit_by_bit() -> None:
    """Set thresholds of the garbage collection, which stops everything, even /health/live. Young
    objects are collected often, while they are few, and old ones, such as waiting lists, hardly
    ever."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 5, 100)


async def _return_freed_memory() -> None:
    """Give freed memory back to the system now and then; otherwise small pieces add up for
    hours."""
    while True:
        await asyncio.sleep(RETURNING_SECONDS)
        await asyncio.to_thread(return_freed_memory)
