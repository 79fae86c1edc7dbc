"""The engines: scoring children under one queue, and the threads that hand them batches.

An engine whose child dies, hangs or fails is not ready: its slots take no batch until another child
has loaded the models and scored a warm-up. After repeated failures the engine is given up.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from reranker.errors import RerankError
from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Origin, Sentence
from reranker.process.cancellation import Cancellation, Stopped
from reranker.ranking import Scored
from reranker.scoring.distinct import DistinctCandidates
from reranker.service.children.scoring import BatchScores, Best, Models, ScoringChild, ToScore
from reranker.service.errors import Lost, RequestError, described, draining, unavailable
from reranker.service.metrics import Metrics
from reranker.service.scheduling.queue import Queue
from reranker.service.scheduling.slots import EngineSlots, Slot
from reranker.service.scheduling.work import Piece, Work
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.scoring")

# After this many failures in a row only a restart of the whole service can help: failed warm-ups,
# or children that hang before their first batch.
_HOPELESS = 3

# How long to wait for a thread to notice that it should end.
_STOPPING_SECONDS = 0.5


class Engine:
    """A scoring child and its slots."""

    def __init__(
        self, settings: Settings, slots: EngineSlots, ended: Callable[[Engine, Lost], None]
    ) -> None:
        self.slots = slots
        shapes = [(slot.threads, slot.niceness) for slot in slots]
        self.child = ScoringChild(settings, shapes, partial(ended, self))
        self.failed_starts = self.hangs = 0
        self.is_starting = False

    @property
    def is_hopeless(self) -> bool:
        """Return whether the engine cannot be started again."""
        return max(self.failed_starts, self.hangs) >= _HOPELESS


class Engines:
    """All engines and their queue."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.queue = Queue(settings, metrics)
        self._metrics, self._settings = metrics, settings
        self._engines = [Engine(settings, slots, self._fail) for slots in self.queue.engines]
        self._lock = threading.Lock()
        self._current: Callable[[], Models | None] = lambda: None
        self._threads: list[threading.Thread] = []
        for engine in self._engines:
            self.queue.set_ready(engine.slots, False)

    @property
    def ready(self) -> int:
        """Return the number of engines that have scored their warm-up and not failed since."""
        return sum(engine.slots.is_ready for engine in self._engines)

    @property
    def is_settled(self) -> bool:
        """Return whether each engine is ready or has been given up."""
        return all(each.slots.is_ready or each.is_hopeless for each in self._engines)

    @property
    def is_hopeless(self) -> bool:
        """Return whether no engine can be started again."""
        return all(engine.is_hopeless for engine in self._engines)

    @property
    def memory(self) -> float:
        """Return the bytes that the children hold in RAM."""
        return sum(engine.child.memory for engine in self._engines)

    @property
    def device_memory(self) -> float:
        """Return the bytes in use where scores are computed: of GPUs, else of the children."""
        return sum(engine.child.device_memory for engine in self._engines)

    def load(self) -> Models:
        """Load the models that the settings name, in all engines; raises RerankError."""
        self.forget_unused()
        first, *others = (engine.child for engine in self._engines)
        models = first.load()
        if others:
            with ThreadPoolExecutor(len(others)) as threads:
                for done in [threads.submit(child.ensure, models) for child in others]:
                    try:
                        done.result()
                    except Lost as error:
                        raise RerankError(f"not all engines have the models: {error}") from error
        return models

    def try_out(self, models: Models) -> None:
        """Score a warm-up with new models in every engine, beside whatever is scored. Raises Lost,
        RequestError and MemoryError if that fails."""
        for engine in self._engines:
            tokens, seconds, *_ = self._warm_up(engine, models)
            self._warm_up_parser(engine, models)
            self.queue.costs.learn_again(tokens, seconds)

    def forget_unused(self) -> None:
        """Have the children forget the models that nobody uses any more."""
        for engine in self._engines:
            engine.child.forget_unused()

    def start(self, current: Callable[[], Models | None]) -> None:
        """Warm up, and then score waiting requests; a child starts with the models of
        ``current``."""
        self._current = current
        for engine in self._engines:
            self._start(engine)
            for slot in engine.slots:
                thread = threading.Thread(None, self._run, slot.name, (engine, slot), daemon=True)
                self._threads.append(thread)
                thread.start()

    def stop(self) -> None:
        """End the children and threads; requests that still wait are answered 503."""
        for work in self.queue.close():
            work.fail(draining())
        for engine in self._engines:
            engine.child.close()
        for thread in self._threads:
            thread.join(timeout=_STOPPING_SECONDS)

    async def score(
        self, work: Work
    ) -> AsyncGenerator[list[tuple[NBest, Sequence[Scored | None]]]]:
        """Yield the lists and the scores of each, in order; lists whose scores come at once are
        yielded together. If closed early, pieces that still wait are dropped. Raises RequestError
        429 as ``Queue.add`` does, and 503 if scoring ends or fails."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        work.changed = partial(loop.call_soon_threadsafe, changed.set)
        self.queue.add(work)
        try:
            if self.is_hopeless:
                raise self.crashed()
            given = 0
            while given < work.count:
                group = work.take_scored(given)
                if not group:
                    await changed.wait()
                    changed.clear()
                    continue
                yield group
                given += len(group)
                self.queue.deliver(work, given)
                del group
        finally:
            work.is_cancelled = True
            self.queue.remove(work)
            work.pieces = []  # these refer to the work: the circle would keep old models

    def crashed(self) -> RequestError:
        """Return the error that answers requests after a failure."""
        if self.is_hopeless:
            return unavailable("worker-crashed", "scoring crashed and cannot be restarted")
        return unavailable("worker-crashed", "scoring crashed and is restarted; try again")

    # What follows runs in threads.

    def _fail(self, engine: Engine, error: BaseException) -> None:
        """Take an engine out of use and start it again, unless that is under way."""
        with self._lock:
            if engine.is_starting or engine.is_hopeless or self.queue.is_closed:
                return
            engine.is_starting = True
        self.queue.set_ready(engine.slots, False)
        if isinstance(error, Lost) and error.has_hung:
            engine.hangs += 1
        self._metrics.child_ended("scoring", error)
        self._log_failure(engine, error)
        if engine.is_hopeless:
            self._give_up(engine)
        else:
            self._start(engine)

    def _start(self, engine: Engine) -> None:
        engine.is_starting = True
        threading.Thread(None, self._start_here, "starting", (engine,), daemon=True).start()

    def _start_here(self, engine: Engine) -> None:
        while (models := self._current()) is not None:
            try:
                self.queue.costs.learn_first(*self._warm_up(engine, models))
                for first, seconds in self._warm_up_parser(engine, models):
                    self.queue.costs.learn_kind(first.kind, first.tokens, seconds)
                for slot in engine.slots:
                    if slot is not engine.slots.main:  # its threads' first list is slow, too
                        _score_first(engine, slot, models, _SHORT)
            except BaseException as error:
                engine.failed_starts += 1
                engine.child.end()  # another may do better
                if self.queue.is_closed:
                    return
                self._log_failure(engine, error)
                if engine.is_hopeless:
                    return self._give_up(engine)
            else:
                engine.failed_starts = 0
                engine.is_starting = False
                self.queue.set_ready(engine.slots, True)
                return

    def _log_failure(self, engine: Engine, error: BaseException) -> None:
        outcome = "cannot be restarted" if engine.is_hopeless else "is restarted"
        _LOGGER.error(f"scoring crashed and {outcome}", **described(error))

    def _give_up(self, engine: Engine) -> None:
        engine.child.end()
        if self.is_hopeless:
            for work in self.queue.drop(engine.slots.main, all_waiting=True):
                work.fail(self.crashed())

    def _warm_up(self, engine: Engine, models: Models) -> tuple[int, float, float, float]:
        """Return the tokens of a first list, its seconds, the seconds of the shortest list, and the
        seconds of each token of a single tree. Each list is scored twice in the main slot, since
        the first time is slow."""
        score = partial(_score_first, engine, engine.slots.main, models)
        many, long, short = (
            min(_seconds(partial(score, nbest)) for _ in range(2))
            for nbest in (_MANY, _LONG, _SHORT)
        )
        step = (long - short) / len(_LONG.candidates[0].tokens)
        return DistinctCandidates(_MANY).size, many, short, max(0.0, step)

    def _warm_up_parser(self, engine: Engine, models: Models) -> list[tuple[Work, float]]:
        """Return two first works with a sentence, if there is a parser, and the seconds of each:
        one for all trees of the sentence, one for the best tree alone."""
        if models.parser is None:
            return []
        models = models.for_text or models
        candidates, main = self._settings.candidates, engine.slots.main
        firsts = [
            Work(models, (), math.inf, sentences=[_SENTENCE], candidates=candidates, best=best)
            for best in (None, Best(models.weighing, 1))
        ]
        score = partial(_score_first, engine, main, models, _SENTENCE)
        return [(first, _seconds(partial(score, first.best))) for first in firsts]

    def _run(self, engine: Engine, slot: Slot) -> None:
        """Score the slot's batches until the queue is closed."""
        while batch := self.queue.next_batch(slot):
            try:
                self._score(engine, slot, batch)
            except BaseException as error:
                for work in self.queue.drop(slot, all_waiting=False):
                    work.fail(self.crashed())
                self._fail(engine, error)
                del error
            batch = []  # which would keep its models while the slot has nothing to do

    def _score(self, engine: Engine, slot: Slot, batch: list[Piece]) -> None:
        started, models = time.monotonic(), batch[0].work.models
        to_score = ToScore(
            models.number,
            any(piece.work.token_scores for piece in batch),
            [piece.what for piece in batch if isinstance(piece.what, NBest)],
            [piece.what for piece in batch if isinstance(piece.what, TextSentence)],
            self._settings.max_tree_tokens,
            batch[0].work.best,
            any(piece.work.is_certainty_wanted for piece in batch),
        )
        try:
            result = engine.child.score(models, to_score, slot.cancellation, slot.place)
        except Stopped:
            self._metrics.stopped.inc()
            return
        engine.hangs = 0
        self._count(slot, batch, result, time.monotonic() - started)
        lists = result.lists or to_score.lists
        for piece, nbest, scored in zip(batch, lists, result.scores, strict=True):
            if scored is None:
                message = "a tree is too large for device memory"
                piece.work.fail(unavailable("out-of-memory", message))
            else:
                piece.work.add(piece, nbest, scored)

    def _count(self, slot: Slot, batch: list[Piece], result: BatchScores, seconds: float) -> None:
        tokens = scored = sum(piece.tokens for piece in batch)
        if any(scores and None in scores for scores in result.scores):
            scored = _scored_tokens(result)
        self._metrics.scored(scored, len({piece.work for piece in batch}), seconds)
        if slot is slot.engine.main and not slot.was_paused:
            self.queue.costs.learn_speed(tokens, seconds, batch[0].work.kind)
        for took in result.parser_seconds:
            self._metrics.parser_seconds.observe(took)
        for fault in result.faults:
            fields = described(Lost("", fault), self._settings.log_text)
            _LOGGER.error("the parser failed", **fields)
        if result.halvings:
            self._metrics.memory_retries.inc(result.halvings)
            _LOGGER.warning("out of device memory: a batch was scored in halves")


def _scored_tokens(result: BatchScores) -> int:
    """Return the tokens of the candidates that have scores; duplicates count once."""
    scored = (each for scores in result.scores for each in scores or () if each)
    return sum(each.tokens for each in scored if each.duplicate_of is None)


def _score_first(
    engine: Engine,
    slot: Slot,
    models: Models,
    what: NBest | TextSentence,
    best: Best | None = None,
) -> None:
    """Score a list, or the parsed list of a sentence, in a slot that serves nobody yet."""
    lists, sentences = ([what], []) if isinstance(what, NBest) else ([], [what])
    batch = ToScore(models.number, False, lists, sentences, best=best)
    engine.child.score(models, batch, Cancellation(), slot.place)


def _seconds(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def _warm_up_lists() -> tuple[NBest, NBest, NBest]:
    """Return 50 trees of 20 words, one of these trees, and a tree of one word, as lists."""
    phrases = ["(NP (DT the) (NN cat))"] * 10
    trees = [
        f"(S1 (S {' '.join(phrases[:first])} (VP {' '.join(phrases[first:last])}) "
        f"{' '.join(phrases[last:])}))"
        for first in range(10)
        for last in range(first + 1, 11)
    ]
    one_word = ["(S1 (NN cat))"]
    return from_candidates(trees[:50]), from_candidates(trees[:1]), from_candidates(one_word)


_MANY, _LONG, _SHORT = _warm_up_lists()
_WORDS = ["When", "the", "cat", "sat", "on", "the", "mat", ",", "a", "dog", "came", "in", "."]
_SENTENCE = TextSentence(Sentence.of(_WORDS), Origin("", 0, "", ()))
