"""Where requests wait for the device.

A request is admitted if it can be expected to be scored in time. A batch takes one list of each
waiting request in turn, so that a long request does not hold up short ones. A score does not depend
on what is scored beside it, so neither does an answer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace

from reranker import Reranker
from reranker.nbest import NBest
from reranker.ranking import Scored
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.lanes import Cancellation
from reranker.service.errors import ServiceError, draining, overloaded
from reranker.service.metrics import Metrics
from reranker.service.settings import Settings

# Largest expected wait, as a share of the time to the deadline: the speed is only an estimate.
_WAITING_SHARE = 0.5

Scores = list[list[Scored]]  # for each list, what the language models say of each candidate


@dataclass(slots=True, eq=False)
class Work:
    """The lists of one request, and the scores that have come back so far."""

    reranker: Reranker
    lists: Sequence[NBest]
    deadline: float  # by time.monotonic()
    token_scores: bool = False
    is_warm_up: bool = False
    answer: Future[Scores] = field(default_factory=Future)
    sizes: list[int] = field(init=False)  # tokens of the distinct candidates of each list
    scores: dict[int, list[Scored]] = field(default_factory=dict)  # by position of the list
    taken: int = 0  # how many lists have been put into a batch
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.sizes = [DistinctCandidates(nbest).size for nbest in self.lists]

    @property
    def waiting_tokens(self) -> int:
        return sum(self.sizes[self.taken :])

    @property
    def is_over(self) -> bool:
        """Whether the caller has cancelled or the deadline has passed."""
        return self.answer.done() or time.monotonic() > self.deadline

    def add(self, position: int, scores: list[Scored]) -> None:
        """Store the scores of one list; those of the last one complete the answer."""
        if not self.token_scores:
            scores = [replace(scored, token_scores=None) for scored in scores]
        self.scores[position] = scores
        if len(self.scores) == len(self.lists):
            with contextlib.suppress(InvalidStateError):  # cancelled in the meantime
                self.answer.set_result([self.scores[place] for place in range(len(self.lists))])

    def fail(self, error: ServiceError) -> None:
        with contextlib.suppress(InvalidStateError):
            self.answer.set_exception(error)


Piece = tuple[Work, int]  # a request and the position of one of its lists


class Queue:
    """The event loop adds and removes requests, the scoring thread takes batches."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._changed = threading.Condition()  # its lock is reentrant
        self._waiting: deque[Work] = deque()
        self._batch: list[Piece] = []  # what is being scored
        self.cancellation = Cancellation()
        """Of the batch being scored: cancelled once nobody waits for any of it."""
        self._speed = 10_000.0  # tokens a second while others wait, learned
        self.tokens = 0  # of the lists that wait
        self.is_closed = False
        metrics.queue_tokens.set_function(lambda: self.tokens)
        metrics.queue_requests.set_function(lambda: len(self._waiting))

    def add(self, work: Work) -> None:
        """Raises ServiceError 429 if full, or too long for the deadline, and 503 if closed. A list
        that tries out new models is always admitted."""
        with self._changed:
            if self.is_closed:
                raise draining()
            is_full = self.tokens + work.waiting_tokens > self._settings.queue_tokens
            if self.tokens and not work.is_warm_up and (is_full or self._would_be_late(work)):
                raise overloaded(self.seconds_to_wait)
            self._waiting.append(work)
            self.tokens += work.waiting_tokens
            self._changed.notify_all()

    def _would_be_late(self, work: Work) -> bool:
        """Whether the deadline is likely to pass before everything ahead has been scored."""
        ahead = self.tokens + sum(other.sizes[place] for other, place in self._batch)
        return ahead / self._speed > _WAITING_SHARE * (work.deadline - time.monotonic())

    @property
    def seconds_to_wait(self) -> int:
        """How long it will probably take to score everything that waits."""
        return min(60, 1 + int(self.tokens / self._speed))

    def learn_speed(self, tokens: int, seconds: float) -> None:
        """Take into account how long a batch took."""
        self._speed += 0.3 * (tokens / max(seconds, 1e-4) - self._speed)

    def next_batch(self) -> list[Piece]:
        """Wait for lists of one ensemble, up to the token budget; empty once the queue is closed.
        The previous batch counts as done."""
        budget = self._settings.batch_tokens
        with self._changed:
            self._batch = []
            while not self._batch and not self.is_closed:
                if not self._waiting:
                    self._changed.wait_for(lambda: self._waiting or self.is_closed)
                    # The device was idle: more requests may arrive in a moment.
                    seconds = self._settings.batch_wait_ms / 1000
                    self._changed.wait_for(lambda: not 0 < self.tokens < budget, seconds)
                self._batch = self._take(budget)
            if not self.is_closed:
                self.cancellation = Cancellation()
            return self._batch

    def _take(self, budget: int) -> list[Piece]:
        batch: list[Piece] = []
        while self._waiting:
            work = self._waiting[0]
            if work.is_over:
                self.remove(work)
                continue
            size = work.sizes[work.taken]
            if batch and (size > budget or work.reranker is not batch[0][0].reranker):
                break
            if work.taken == 0:
                self._metrics.queue_wait.observe(time.monotonic() - work.since)
            batch.append((work, work.taken))
            budget -= size
            work.taken += 1
            self.tokens -= size
            self._waiting.popleft()
            if work.taken < len(work.lists):
                self._waiting.append(work)
        return batch

    def remove(self, work: Work) -> None:
        """Drop what waits of a request; what is being scored is stopped if all of it is for
        requests that are over."""
        with self._changed:
            if work in self._waiting:
                self._waiting.remove(work)
                self.tokens -= work.waiting_tokens
            if self._batch and all(other.is_over for other, _ in self._batch):
                self.cancellation.cancel()

    def drop(self, all_waiting: bool) -> set[Work]:
        """Drop and return the requests of the current batch, or all of them."""
        with self._changed:
            dropped = {work for work, _ in self._batch} | set(self._waiting if all_waiting else ())
            self._batch = []
            for work in dropped:
                self.remove(work)
            return dropped

    def close(self) -> set[Work]:
        """Admit nothing more; drop and return all requests."""
        with self._changed:
            self.is_closed = True
            self.cancellation.cancel()
            self._changed.notify_all()
            return self.drop(all_waiting=True)
