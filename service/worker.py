"""The scoring thread, which owns the device. If it crashes, another takes its place.

Where memory does not suffice for a batch, it is scored in ever smaller parts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog
import torch

from reranker import Reranker
from reranker.nbest import NBest
from reranker.ranking import Scored
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.lanes import Cancellation, Stopped
from reranker.service.errors import ServiceError, draining, unavailable
from reranker.service.logs import described
from reranker.service.metrics import Metrics
from reranker.service.queue import Piece, Queue, Scores, Work
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.scoring")

# After this many failed warm-ups in a row only a restart of the whole process can help.
_HOPELESS = 3

# How long to wait for the thread to notice that it should end.
_STOPPING_SECONDS = 0.5


class ScoringThread:
    """The thread and the queue that it empties."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.queue = Queue(settings, metrics)
        self.is_ready = False
        """Whether the thread has scored its warm-up and not crashed since."""
        self._metrics = metrics
        self._failed_starts = 0
        self._thread: threading.Thread | None = None

    @property
    def is_hopeless(self) -> bool:
        """Whether the thread cannot be restarted."""
        return self._failed_starts >= _HOPELESS

    def start(self, warm_up: Callable[[], Work]) -> None:
        """Start the thread; ``warm_up`` makes what it scores first, now and after a crash."""
        self._thread = threading.Thread(None, self._run, "scoring", (warm_up,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and what it computes; requests that still wait are answered 503."""
        for work in self.queue.close():
            work.fail(draining())
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout=_STOPPING_SECONDS)

    async def score(self, work: Work) -> Scores:
        """The scores of each list; if cancelled, what is not being scored yet is dropped. Raises
        ServiceError 429 as ``Queue.add`` does, and 503 if the thread stops or crashes."""
        if not work.lists:
            return []
        self.queue.add(work)
        try:
            if self.is_hopeless:
                raise self.crashed()
            return await asyncio.wrap_future(work.answer)
        finally:
            work.answer.cancel()
            self.queue.remove(work)

    def crashed(self) -> ServiceError:
        """The answer to a request after a crash."""
        if self.is_hopeless:
            return unavailable("worker-crashed", "scoring crashed and cannot be restarted")
        return unavailable("worker-crashed", "scoring crashed and is restarted; try again")

    # What follows runs in the scoring thread.

    def _run(self, warm_up: Callable[[], Work]) -> None:
        """Score until the queue is closed; after a crash another thread continues."""
        try:
            self._score_all(warm_up())
            self._failed_starts = 0
            self.is_ready = True
            while batch := self.queue.next_batch():
                self._score(batch)
        except BaseException as error:
            self._crashed(error)
            if not self.is_hopeless and not self.queue.is_closed:
                self.start(warm_up)

    def _crashed(self, error: BaseException) -> None:
        """Fail the batch being scored; if the warm-up failed, also everything that waits."""
        was_ready, self.is_ready = self.is_ready, False
        self._failed_starts += not was_ready
        self._metrics.worker_restarts.inc()
        outcome = "cannot be restarted" if self.is_hopeless else "is restarted"
        _LOGGER.error(f"the scoring thread crashed and {outcome}", **described(error))
        for work in self.queue.drop(all_waiting=not was_ready):
            work.fail(self.crashed())

    def _score_all(self, work: Work) -> None:
        # Not in _run, which would keep the work and its models as long as the thread lives.
        self._score([(work, place) for place in range(len(work.lists))])

    def _score(self, batch: list[Piece]) -> None:
        reranker, works = batch[0][0].reranker, {work for work, _ in batch}
        started, others_wait = time.monotonic(), self.queue.tokens > 0
        lists = [work.lists[place] for work, place in batch]
        token_scores = any(work.token_scores for work in works)
        cancellation = self.queue.cancellation
        try:
            scores = score_in_parts(reranker, lists, token_scores, self._halved, cancellation)
        except Stopped:  # nobody waits for it
            self._metrics.stopped.inc()
            return
        seconds = time.monotonic() - started
        if not batch[0][0].is_warm_up:
            tokens = sum(work.sizes[place] for work, place in batch)
            self._metrics.scored(tokens, len(works), seconds)
            if others_wait:  # small batches are slower: their speed says nothing
                self.queue.learn_speed(tokens, seconds)
        for (work, place), scored in zip(batch, scores, strict=True):
            if scored is None:
                work.fail(unavailable("out-of-memory", "a tree is too large for device memory"))
            else:
                work.add(place, scored)

    def _halved(self) -> None:
        self._metrics.memory_retries.inc()
        _LOGGER.warning("out of device memory: the batch is scored in halves")


def score_in_parts(
    reranker: Reranker,
    lists: Sequence[NBest],
    token_scores: bool,
    halved: Callable[[], None],
    cancellation: Cancellation | None = None,
) -> list[list[Scored] | None]:
    """The scores of each list; if memory does not suffice, of one half after the other, down to
    single candidates. ``halved`` is called each time that happens. None for a list with a candidate
    that does not fit even alone. Raises Stopped if cancelled.
    """
    try:
        scored = reranker.score_lists(lists, token_scores=token_scores, cancellation=cancellation)
        return [scores for _, scores in scored]
    except (MemoryError, RuntimeError) as error:
        # On a GPU torch has an error of its own for it, on a CPU only a message.
        is_typed = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_typed and "can't allocate memory" not in str(error):
            raise
    # Not in the except clause: the traceback would keep the tensors alive.
    halved()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    part = partial(
        score_in_parts,
        reranker,
        token_scores=token_scores,
        halved=halved,
        cancellation=cancellation,
    )
    if middle := len(lists) // 2:
        return part(lists[:middle]) + part(lists[middle:])
    (nbest,) = lists
    middle = len(nbest.candidates) // 2
    if not middle:
        return [None]
    (left,) = part([replace(nbest, candidates=nbest.candidates[:middle])])
    (right,) = part([replace(nbest, candidates=nbest.candidates[middle:])])
    if left is None or right is None:
        return [None]
    # A half cannot know what it repeats of the other.
    together = zip(left + right, DistinctCandidates(nbest).candidates, strict=True)
    return [[replace(scored, duplicate_of=original) for scored, (_, original) in together]]
