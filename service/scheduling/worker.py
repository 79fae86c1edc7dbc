"""The scoring threads, one for each slot of the queue. If one crashes, another takes its place.

Where memory does not suffice for a batch, it is scored in ever smaller parts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial

import structlog

from reranker.nbest import NBest
from reranker.process.cancellation import Stopped
from reranker.ranking import Scored
from reranker.service.children.child import Lost, resident_memory
from reranker.service.children.faults import described
from reranker.service.children.scoring import Line, Models, ScoringProcess
from reranker.service.errors import ServiceError, draining, unavailable
from reranker.service.metrics import Metrics
from reranker.service.requests.texts import without_long_trees
from reranker.service.scheduling.parts import score_in_parts
from reranker.service.scheduling.queue import Queue, Slot
from reranker.service.scheduling.work import Piece, Work
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.scoring")

# After this many failed warm-ups in a row only a restart of the whole process can help.
_HOPELESS = 3

# How long to wait for a thread to notice that it should end.
_STOPPING_SECONDS = 0.5


class ScoringThreads:
    """A thread for each slot of the queue, which they empty."""

    def __init__(self, settings: Settings, metrics: Metrics, is_here: bool = True) -> None:
        """``is_here``: the models are in this process, not in one of their own."""
        self.queue = Queue(settings, metrics)
        self.process: ScoringProcess | None = None
        slots = self.queue.slots
        if is_here:
            from reranker.scoring.lanes import Lanes

            self._lanes: dict[Slot, Lanes | Line] = {
                slot: Lanes(slot.threads, slot.niceness) for slot in slots
            }
        else:
            process = ScoringProcess(settings, [(slot.threads, slot.niceness) for slot in slots])
            self._lanes = {slot: process.line(place) for place, slot in enumerate(slots)}
            self.process = process
        self._metrics, self._most_tokens = metrics, settings.max_tree_tokens
        self._log_text = settings.log_text
        self._ready: set[Slot] = set()
        self._failed_starts = 0
        self._threads: dict[Slot, threading.Thread] = {}

    @property
    def is_ready(self) -> bool:
        """Whether each thread has scored its warm-up and not crashed since."""
        return len(self._ready) == len(self.queue.slots)

    @property
    def is_hopeless(self) -> bool:
        """Whether a thread cannot be restarted."""
        return self._failed_starts >= _HOPELESS

    @property
    def device_memory(self) -> float:
        """Bytes in use where it is scored: of GPUs, else of the process."""
        if self.process is not None:
            return self.process.device_memory
        from reranker.checkpoints.devices import gpu_memory

        return gpu_memory() or resident_memory()

    def start(self, warm_up: Callable[[], list[Work]]) -> None:
        """Start the threads; ``warm_up`` makes what each scores first, now and after a crash; the
        first of it tells the speed."""
        self._start(self.queue.main, warm_up)

    def stop(self) -> None:
        """End the threads and what they compute; requests that still wait are answered 503."""
        for work in self.queue.close():
            work.fail(draining())
        if self.process is not None:
            self.process.close()
        for thread in [*self._threads.values()]:
            thread.join(timeout=_STOPPING_SECONDS)

    async def score(self, work: Work) -> AsyncGenerator[list[Scored]]:
        """The scores of each list, in order, as soon as they are there; if closed early, what is
        not being scored yet is dropped. Raises ServiceError 429 as ``Queue.add`` does, and 503 if
        a thread stops or crashes."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        work.changed = partial(loop.call_soon_threadsafe, changed.set)
        self.queue.add(work)
        try:
            if self.is_hopeless:
                raise self.crashed()
            for place in range(work.count):
                while (scores := work.scores_of(place)) is None:
                    await changed.wait()
                    changed.clear()
                yield scores
                self.queue.deliver(work)
        finally:
            work.is_cancelled = True
            self.queue.remove(work)
            work.forget_pieces()

    def crashed(self) -> ServiceError:
        """The answer to a request after a crash."""
        if self.is_hopeless:
            return unavailable("worker-crashed", "scoring crashed and cannot be restarted")
        return unavailable("worker-crashed", "scoring crashed and is restarted; try again")

    def _start(self, slot: Slot, warm_up: Callable[[], list[Work]]) -> None:
        thread = threading.Thread(None, self._run, slot.name, (slot, warm_up), daemon=True)
        self._threads[slot] = thread
        thread.start()

    # What follows runs in the scoring threads.

    def _run(self, slot: Slot, warm_up: Callable[[], list[Work]]) -> None:
        """Score until the queue is closed; after a crash another thread continues."""
        try:
            self._warm_up(slot, warm_up())
            self._failed_starts = 0
            self._ready.add(slot)
            for other in self.queue.slots:
                if other not in self._threads:
                    self._start(other, warm_up)
            while batch := self.queue.next_batch(slot):
                self._score(slot, batch)
                batch = []  # which would keep its models while the slot has nothing to do
        except BaseException as error:
            if self.queue.is_closed:
                return
            self._crashed(slot, error)
            if not self.is_hopeless and not self.queue.is_closed:
                self._start(slot, warm_up)

    def _warm_up(self, slot: Slot, works: Sequence[Work]) -> None:
        """In the main slot twice, since the first time is slow; the second tells the speed, of a
        long list and of one as short as they come."""
        for number, work in enumerate(works):
            seconds = [self._seconds(slot, piece) for piece in work.pieces]
            if slot is self.queue.main and number == 0:
                self.queue.learn_first(work.pieces[0].tokens, *seconds)
            work.forget_pieces()

    def _seconds(self, slot: Slot, piece: Piece) -> float:
        seconds = []
        for _ in range(2 if slot is self.queue.main else 1):
            started = time.monotonic()
            self._scores(slot, [piece])
            seconds.append(time.monotonic() - started)
        return min(seconds)

    def _crashed(self, slot: Slot, error: BaseException) -> None:
        """Fail the batch being scored; if the warm-up failed, also everything that waits."""
        was_ready = slot in self._ready
        self._ready.discard(slot)
        main = self.queue.main
        if not was_ready and (slot is main or main in self._ready):  # else it is the same failure
            self._failed_starts += 1
            if self.process is not None:
                self.process.end()  # another may do better
        self._metrics.worker_restarts.inc()
        outcome = "cannot be restarted" if self.is_hopeless else "is restarted"
        _LOGGER.error(f"the scoring thread crashed and {outcome}", **described(error))
        for work in self.queue.drop(slot, all_waiting=not was_ready):
            work.fail(self.crashed())

    def _score(self, slot: Slot, batch: list[Piece]) -> None:
        started = time.monotonic()
        try:
            lists, scores = self._scores(slot, batch)
        except Stopped:
            self._metrics.stopped.inc()
            return
        seconds = time.monotonic() - started
        tokens = sum(piece.tokens for piece in batch)
        self._metrics.scored(tokens, len({piece.work for piece in batch}), seconds)
        if not slot.was_paused:
            if slot is self.queue.main:
                self.queue.learn_speed(tokens, seconds)
            if any(piece.work.is_warm_up and piece.place == 0 for piece in batch):
                self.queue.learn_again(tokens, seconds)
        for piece, nbest, scored in zip(batch, lists, scores, strict=True):
            if scored is None:
                message = "a tree is too large for device memory"
                piece.work.fail(unavailable("out-of-memory", message))
            else:
                piece.work.add(piece, nbest, scored)

    def _scores(
        self, slot: Slot, batch: Sequence[Piece]
    ) -> tuple[list[NBest], list[list[Scored] | None]]:
        """The lists, of sentences what the parser makes of them, and the scores of each."""
        lists = [piece.what for piece in batch if isinstance(piece.what, NBest)]
        if batch[0].work.is_text:
            lists = self._parsed(slot, batch)
        scores = score_in_parts(
            batch[0].work.reranker,
            lists,
            any(piece.work.token_scores for piece in batch),
            self._halved,
            slot.cancellation,
            self._lanes[slot],
        )
        return lists, scores

    def _parsed(self, slot: Slot, batch: Sequence[Piece]) -> list[NBest]:
        models, line = batch[0].work.reranker, self._lanes[slot]
        assert isinstance(models, Models) and isinstance(line, Line)
        sentences = [piece.what for piece in batch if isinstance(piece.what, TextSentence)]
        lists = []
        for nbest, seconds, fault in line.parse(models, sentences, slot.cancellation):
            self._metrics.parser_seconds.observe(seconds)
            if fault is not None:
                _LOGGER.error("the parser failed", **described(Lost("", fault), self._log_text))
            lists.append(without_long_trees(nbest, self._most_tokens))
        return lists

    def _halved(self) -> None:
        self._metrics.memory_retries.inc()
        _LOGGER.warning("out of device memory: the batch is scored in halves")
