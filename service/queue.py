"""Requests -> batches -> scores: one thread owns the device, and what waits is scored together.

A request's lists are taken one in turn with those of the others, so that a long request does not
hold up short ones. A score does not depend on what is scored beside it, so neither does an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace

import structlog
import torch

from reranker import Reranker
from reranker.nbest import NBest
from reranker.ranking import Scored
from reranker.service.errors import ServiceError, overloaded, unavailable
from reranker.service.logs import described
from reranker.service.metrics import Metrics
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.batching")

# Failed warm-ups in a row after which a restart of the whole process is the only hope.
_HOPELESS = 3

# Share of the time to its deadline that a request may be expected to wait: speed is a guess.
_PATIENCE = 0.5

Scores = list[list[Scored]]


@dataclass(slots=True, eq=False)
class Work:
    """One request's lists on their way through the scoring thread."""

    reranker: Reranker
    lists: Sequence[NBest]
    deadline: float  # by time.monotonic()
    token_scores: bool = False
    is_warm_up: bool = False
    answer: Future[Scores] = field(default_factory=Future)
    sizes: list[int] = field(init=False)
    """Tokens of the different candidates of each list: what scoring it costs."""
    scores: dict[int, list[Scored]] = field(default_factory=dict)
    taken: int = 0
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.sizes = [
            sum(len(tokens) + 1 for tokens in {one.tokens for one in nbest.candidates})
            for nbest in self.lists
        ]

    @property
    def waiting_tokens(self) -> int:
        return sum(self.sizes[self.taken :])

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.answer.done() or time.monotonic() > self.deadline

    def add(self, place: int, scores: list[Scored]) -> None:
        if not self.token_scores:
            scores = [replace(one, token_scores=None) for one in scores]
        self.scores[place] = scores
        if len(self.scores) == len(self.lists):
            with contextlib.suppress(InvalidStateError):  # it was given up meanwhile
                self.answer.set_result([self.scores[place] for place in range(len(self.lists))])

    def fail(self, error: ServiceError) -> None:
        with contextlib.suppress(InvalidStateError):
            self.answer.set_exception(error)


Piece = tuple[Work, int]  # a request and the place of one of its lists


class Batcher:
    """The queue and the thread that empties it."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._tokens = 0  # that wait
        self._rate = 10_000.0  # tokens a second while others wait, learned
        self._batch: list[Piece] = []
        self._is_stopped = False
        self._failed_starts = 0
        self._thread: threading.Thread | None = None
        self._warm_up: Callable[[], Work] | None = None
        self.is_ready = False
        """Whether the thread has scored something and goes on doing so."""

    @property
    def is_hopeless(self) -> bool:
        """Whether the thread cannot be brought back."""
        return self._failed_starts >= _HOPELESS

    def start(self, warm_up: Callable[[], Work]) -> None:
        """Start the thread; ``warm_up`` gives it, now and after a crash, a first thing to score."""
        self._warm_up = warm_up
        self._start_thread()

    def stop(self) -> None:
        """End the thread; who still waits is answered 503."""
        with self._changed:
            if self._is_stopped:
                return
            self._is_stopped = True
            lost = {*self._waiting, *(work for work, _ in self._batch)}
            self._waiting.clear()
            self._count(-self._tokens)
            self._changed.notify_all()
        for work in lost:
            work.fail(_ended())
        if self._thread is not None:
            self._thread.join(timeout=2)

    async def score(self, work: Work) -> Scores:
        """The scores of each list; raises ServiceError 429 if the queue is full, or too long for
        the deadline, and 503 if the scoring thread dies of it. Cancelled, it drops what has not
        been scored."""
        if not work.lists:
            return []
        with self._changed:
            if self._is_stopped:
                raise _ended()
            tokens = work.waiting_tokens
            is_full = self._tokens + tokens > self._settings.queue_tokens
            if self._tokens and (is_full or self._comes_too_late(work)):
                raise overloaded(self._seconds_to_wait())
            self._waiting.append(work)
            self._count(tokens)
            self._changed.notify_all()
        try:
            return await asyncio.wrap_future(work.answer)
        finally:
            work.answer.cancel()
            with self._changed:
                if work in self._waiting:
                    self._waiting.remove(work)
                    self._count(-work.waiting_tokens)

    def retry_after(self) -> int:
        """Seconds until what waits is done, as far as one can tell."""
        with self._changed:
            return self._seconds_to_wait()

    def _comes_too_late(self, work: Work) -> bool:
        """Whether the deadline is likely to pass before what waits is done."""
        ahead = self._tokens + sum(one.sizes[place] for one, place in self._batch)
        return ahead / self._rate > _PATIENCE * (work.deadline - time.monotonic())

    def _seconds_to_wait(self) -> int:
        return min(60, 1 + int(self._tokens / self._rate))

    def _count(self, tokens: int) -> None:
        self._tokens += tokens
        self._metrics.queue_tokens.set(self._tokens)
        self._metrics.queue_requests.set(len(self._waiting))

    # What follows runs in the scoring thread.

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._main, name="scoring", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        """Score until stopped. Whatever ends the thread otherwise, another takes its place."""
        try:
            assert self._warm_up is not None
            first = self._warm_up()
            self._score([(first, place) for place in range(len(first.lists))])
            self._failed_starts = 0
            self.is_ready = True
            while batch := self._next_batch():
                self._batch = batch
                self._score(batch)
                self._batch = []
        except BaseException as error:
            self._crashed(error)

    def _crashed(self, error: BaseException) -> None:
        started = self.is_ready
        self.is_ready = False
        self._metrics.worker_restarts.inc()
        _LOGGER.error("the scoring thread crashed and is started anew", **described(error))
        lost = {work for work, _ in self._batch}
        self._batch = []
        with self._changed:
            if not started:
                self._failed_starts += 1
                lost.update(self._waiting)
            for work in [one for one in self._waiting if one in lost]:
                self._waiting.remove(work)
                self._count(-work.waiting_tokens)
        for work in lost:
            work.fail(unavailable("worker-crashed", "scoring failed and starts anew; try again"))
        if not self.is_hopeless and not self._is_stopped:
            self._start_thread()

    def _next_batch(self) -> list[Piece]:
        """Lists of one ensemble up to the token budget; none if stopped and nothing waits."""
        with self._changed:
            while True:
                if not self._waiting:
                    while not self._waiting and not self._is_stopped:
                        self._changed.wait()
                    self._wait_for_company()
                batch = self._take_batch()
                if batch or self._is_stopped:
                    return batch

    def _wait_for_company(self) -> None:
        """The device was idle: others may come in a moment."""
        until = time.monotonic() + self._settings.batch_wait_ms / 1000
        while (left := until - time.monotonic()) > 0:
            if not 0 < self._tokens < self._settings.batch_tokens:
                return
            self._changed.wait(left)

    def _take_batch(self) -> list[Piece]:
        batch: list[Piece] = []
        tokens = 0
        while self._waiting:
            work = self._waiting[0]
            if work.is_over:
                self._waiting.popleft()
                self._count(-work.waiting_tokens)
                continue
            size = work.sizes[work.taken]
            is_full = tokens + size > self._settings.batch_tokens
            if batch and (is_full or work.reranker is not batch[0][0].reranker):
                break
            if work.taken == 0:
                self._metrics.queue_wait.observe(time.monotonic() - work.since)
            batch.append((work, work.taken))
            tokens += size
            work.taken += 1
            self._waiting.popleft()
            if work.taken < len(work.lists):
                self._waiting.append(work)
            self._count(-size)
        return batch

    def _score(self, batch: list[Piece]) -> None:
        started = time.monotonic()
        is_full = self._tokens > 0  # small batches are slower: their speed says nothing
        reranker = batch[0][0].reranker
        lists = [work.lists[place] for work, place in batch]
        token_scores = any(work.token_scores for work, _ in batch)
        try:
            scores = score_in_parts(reranker, lists, token_scores, self._shrunk)
        except OutOfMemory:
            error = unavailable("out-of-memory", "a tree does not fit into the device's memory")
            for work in {work for work, _ in batch}:
                work.fail(error)
            return
        seconds = time.monotonic() - started
        tokens = sum(work.sizes[place] for work, place in batch)
        if not batch[0][0].is_warm_up:
            if is_full:
                self._rate += 0.3 * (tokens / max(seconds, 1e-4) - self._rate)
            requests = len({work for work, _ in batch})
            self._metrics.scored(tokens, requests, seconds)
        for (work, place), mine in zip(batch, scores, strict=True):
            work.add(place, mine)

    def _shrunk(self) -> None:
        self._metrics.memory_retries.inc()
        _LOGGER.warning("the device is out of memory; the batch is halved")


def _ended() -> ServiceError:
    return unavailable("draining", "the service ends before this was done")


class OutOfMemory(Exception):
    """Not even one candidate fits."""


def score_in_parts(
    reranker: Reranker, lists: Sequence[NBest], token_scores: bool, shrunk: Callable[[], None]
) -> Scores:
    """The scores of each list; if memory does not suffice, of one half after the other, down to
    single candidates. ``shrunk`` is called each time that happens. Raises OutOfMemory.
    """
    try:
        return [scores for _, scores in reranker.score_lists(lists, token_scores=token_scores)]
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
    # Not in the except clause: the traceback would keep the tensors alive.
    shrunk()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

    def part(some: Sequence[NBest]) -> Scores:
        return score_in_parts(reranker, some, token_scores, shrunk)

    middle = len(lists) // 2
    if middle:
        return part(lists[:middle]) + part(lists[middle:])
    (nbest,) = lists
    candidates = nbest.candidates
    middle = len(candidates) // 2
    if not middle:
        raise OutOfMemory
    (left,) = part([replace(nbest, candidates=candidates[:middle])])
    (right,) = part([replace(nbest, candidates=candidates[middle:])])
    # Neither half knows what the other repeats.
    first: dict[tuple[str, ...], int] = {}
    scores = []
    for candidate, scored in zip(candidates, left + right, strict=True):
        original = first.setdefault(candidate.tokens, candidate.index)
        duplicate_of = None if original == candidate.index else original
        scores.append(replace(scored, duplicate_of=duplicate_of))
    return [scores]


def _is_out_of_memory(error: Exception) -> bool:
    """On a GPU torch has an error of its own for it, on a CPU only a message."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        "can't allocate memory" in str(error)
    )
