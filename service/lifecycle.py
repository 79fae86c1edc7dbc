"""The running service: its models and its queue; how it starts, reloads and stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, TypeVar

import structlog
from fastapi import Depends, Request

from reranker import Reranker
from reranker.errors import RerankError
from reranker.nbest import NBest, from_candidates
from reranker.scoring.lanes import Cancellation
from reranker.service.bodies import BodyBytes
from reranker.service.counting import Count
from reranker.service.errors import ServiceError, draining, overloaded, unavailable
from reranker.service.keys import Keys
from reranker.service.logs import described
from reranker.service.metrics import Metrics, ReadingThreads
from reranker.service.queue import Scores, Work
from reranker.service.settings import Settings
from reranker.service.worker import ScoringThread

_LOGGER = structlog.get_logger("rerank.service")

T = TypeVar("T")

# Bytes of a body that take longer to count than to hand to another thread.
_LONG_PIECE = 4096


class Service:
    """One for each application."""

    def __init__(self, reranker: Reranker | None, settings: Settings) -> None:
        """Without a ``reranker``, ``start`` loads the one that the settings name."""
        self.settings = settings
        self.metrics = Metrics()
        self.keys = Keys(settings)
        self.reranker: Reranker | None = None
        """None until it has scored something."""
        self.is_draining = False
        self.failure: RerankError | None = None
        """Why the models could not be loaded at the start."""
        self.in_flight = 0
        self._given = reranker
        self._worker = ScoringThread(settings, self.metrics)
        self._reloading = asyncio.Lock()
        # Parses requests and writes answers; two threads, so that a long one blocks no others.
        self._pool = ReadingThreads(2, "requests", self.metrics)
        # Looks at bodies while they arrive, a piece at a time, so that nobody waits long.
        self._counting = ThreadPoolExecutor(1, "counting")
        self.body_bytes = BodyBytes(settings)
        self.metrics.in_flight.set_function(lambda: self.in_flight)
        self.metrics.ready.set_function(lambda: self.is_ready)
        for name, value in settings.limits.items():
            self.metrics.limit.labels(name).set(value)

    async def start(self) -> None:
        """Load and warm up; on failure, ``failure`` says why."""
        try:
            await self._start()
        except RerankError as error:
            self.failure = error
        except Exception as error:
            _LOGGER.error("the service cannot start", **described(error, with_text=True))
            self.failure = RerankError(f"the service cannot start: {error}")

    async def _start(self) -> None:
        given = self._given
        if given is None:
            given = await asyncio.to_thread(self._load)
        self.metrics.watch_device(given.device)
        self._worker.start(lambda: _warm_up(self.reranker or given, self.settings))
        while not self._worker.is_ready and self.is_alive:
            await asyncio.sleep(0.01)
        if not self.is_alive:
            raise RerankError("the models could not score a first list; the log says why")
        _rarely_collect_garbage()
        self.reranker = given
        self.metrics.use_models(given)
        _LOGGER.info("ready", models=[member.name for member in given.members])

    async def stop(self) -> None:
        """Stop scoring; requests that still wait are answered 503."""
        await asyncio.to_thread(self._worker.stop)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._counting.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Refuse new requests and wait for those accepted, no longer than the settings say."""
        self.is_draining = True
        until = time.monotonic() + self.settings.drain_seconds
        await asyncio.sleep(min(self.settings.linger_seconds, self.settings.drain_seconds))
        while self.in_flight and time.monotonic() < until:
            await asyncio.sleep(0.02)
        _LOGGER.info("drained", unfinished=self.in_flight)
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

    def current(self) -> Reranker:
        """The models; raises ServiceError 503 before they are loaded and when draining."""
        if self.is_draining:
            raise draining(retry_after=5)
        if self.reranker is None:
            raise unavailable("loading", "the models are being loaded", retry_after=2)
        return self.reranker

    @contextlib.contextmanager
    def visit(self) -> Iterator[Reranker]:
        """Count a request while it is being answered; gives the models for its answer. Raises
        ServiceError 503 or 429."""
        reranker = self.current()
        if self.in_flight >= self.settings.queue_requests:
            raise overloaded(self._worker.queue.seconds_to_wait)
        self.in_flight += 1
        try:
            yield reranker
        finally:
            self.in_flight -= 1

    async def in_thread(self, function: Callable[[Cancellation], T]) -> T:
        """Run what would block the event loop; it should look at its argument now and then."""
        cancellation = Cancellation()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, function, cancellation)
        finally:
            cancellation.cancel()

    async def count(self, count: Count, piece: bytes) -> None:
        """Feed a piece of a body to ``count``; raises ServiceError."""
        if len(piece) < _LONG_PIECE:
            count.feed(piece)
        else:
            await asyncio.get_running_loop().run_in_executor(self._counting, count.feed, piece)

    async def score(
        self, reranker: Reranker, lists: Sequence[NBest], deadline: float, token_scores: bool
    ) -> tuple[Scores, int]:
        """The scores of each list and how many tokens were scored; raises ServiceError."""
        work = await self.in_thread(lambda _: Work(reranker, lists, deadline, token_scores))
        return await self._worker.score(work), sum(work.sizes)

    async def reload(self) -> Reranker:
        """Load models and keys again; requests already accepted are answered with the old models.

        Raises ServiceError 409 if that fails; the old models stay.
        """
        async with self._reloading:
            try:
                keys = Keys(self.settings)
                reranker = await asyncio.to_thread(self._load)
                await self._worker.score(_warm_up(reranker, self.settings))
            except (RerankError, ServiceError) as error:
                self.metrics.reloads.labels("failed").inc()
                _LOGGER.error("models not reloaded", **described(error, with_text=True))
                raise ServiceError(409, "reload-failed", self._without_paths(str(error))) from error
            self.keys, self.reranker = keys, reranker
            self.metrics.use_models(reranker)
            self.metrics.reloads.labels("done").inc()
            _LOGGER.info("models reloaded", models=[member.sha256 for member in reranker.members])
            return reranker

    def _load(self) -> Reranker:
        settings = self.settings
        return Reranker.load(
            settings.models, settings.combine, settings.device, settings.threads, settings.precision
        )

    def _without_paths(self, message: str) -> str:
        for name in (*self.settings.models, str(self.settings.api_keys_file)):
            message = message.replace(f"{Path(name).parent}/", "")
        return message


def _rarely_collect_garbage() -> None:
    """Nothing else runs meanwhile, and among the lists of long requests it finds nothing: a tenth
    of a second each time, which /health/live would wait too."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _warm_up(reranker: Reranker, settings: Settings) -> Work:
    """A list to score before the first real one."""
    nbest = from_candidates(
        [
            "(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))",
            "(S1 (NP (NP (PRP It)) (NP (NNS runs)) (. .)))",
        ]
    )
    deadline = time.monotonic() + settings.max_request_seconds
    return Work(reranker, [nbest], deadline, is_warm_up=True)


async def _of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(_of)]
"""The service, as a parameter of a route."""
