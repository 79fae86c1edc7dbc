"""The queue of requests that wait to be scored.

A request is admitted if it will probably be scored in time, and if its client does not hold most of
the tokens that wait. Clients take turns, and so do the requests of each client, piece by piece. A
score does not depend on the other pieces of its batch, so neither does an answer.

Each engine has three slots, with threads of their own. The main slot scores everything, lists as a
whole where that is possible. Very small requests are scored beside it. When a client has a head
start, the main slot's batch is paused while another slot scores for that client; nothing is lost.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from reranker.process.machine import available_cores
from reranker.service.errors import draining
from reranker.service.fairness import Shares, overloaded, work_before
from reranker.service.metrics import Metrics
from reranker.service.scheduling.costs import Costs
from reranker.service.scheduling.fair_queue import FairQueue
from reranker.service.scheduling.slots import EngineSlots, Slot
from reranker.service.scheduling.work import Piece, Work
from reranker.service.settings import Settings

# Largest expected wait, as a share of the time to the deadline: the speed is only an estimate.
_WAITING_SHARE = 0.5

BATCH_WAIT_SECONDS = 0.003
"""Seconds that an idle device waits for more requests to score together."""

# Clients whose requests ended together often ask again at once. So after a batch the wait is this
# share of the batch's time, up to a number of seconds.
_RETURN_SHARE, _MOST_RETURN_SECONDS = 0.15, 0.03

# Seconds of a batch of very small requests, or for clients with a head start: the next such request
# waits for the batch.
_SHORT_BATCH_SECONDS = 0.15

# The same for sentences, which gain more than lists from being computed together.
_SHORT_TEXT_SECONDS = 0.25

# A piece that takes longer pauses no batch, whatever head start its client has.
_FIRST_SECONDS = 0.3

# Requests shorter than this count as very small and may overtake.
_SMALL_SECONDS = 0.05

# Once a batch has been paused for this long, no other piece overtakes it.
_MOST_PAUSED_SECONDS = 2.0


class _Returning(NamedTuple):
    """The requests that a slot waits for after a batch."""

    until: float  # by time.monotonic()
    requests: int


class Queue:
    """The waiting requests, which the event loop adds and removes; slots' threads take batches."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._lock = threading.RLock()
        self._waiting: FairQueue[Work] = FairQueue()
        self._shares = Shares(settings.queue_tokens)
        self.costs = Costs(settings.batch_tokens)
        threads = settings.threads or max(1, available_cores() // settings.engines)
        self.engines = [EngineSlots(threads) for _ in range(settings.engines)]
        self.slots = [slot for engine in self.engines for slot in engine]
        for slot in self.slots:
            slot.changed = threading.Condition(self._lock)
        self.batch_wait = BATCH_WAIT_SECONDS
        self._returning = _Returning(0.0, 0)
        self.is_closed = False
        metrics.queue_tokens.set_function(lambda: self._shares.total)
        metrics.queue_requests.set_function(lambda: len(self._waiting))

    @property
    def tokens(self) -> int:
        """Return the number of tokens that wait."""
        return sum(work.waiting_tokens for work in self._waiting)

    @property
    def sentences(self) -> int:
        """Return the number of sentences of texts that wait to be parsed."""
        return sum(work.count - work.taken for work in self._waiting if work.is_text)

    def add(self, work: Work) -> None:
        """Admit a request. Raises RequestError 429 if the queue is full, or too long for the
        deadline, and 503 if it is closed."""
        with self._lock:
            if self.is_closed:
                raise draining()
            if not work.is_text:
                self._check_share(work.client, work.tokens)
            tokens = self.costs.list_tokens(work.kind, work.tokens)
            self._check_time(work.client, tokens, work.deadline)
            longest = max((piece.longest for piece in work.pieces), default=0)
            work.is_small = self.costs.cost(tokens, longest) <= self.costs.tokens_in(_SMALL_SECONDS)
            if not work.is_text:  # sentences take little memory before their turn comes
                self._shares.take(work.client, work.tokens)
            self._waiting.add(work, self.costs.head_start)
            self._wake()

    def check_room(self, client: str, tokens: int, deadline: float) -> None:
        """Raise RequestError 429 unless a request for this many tokens would be admitted."""
        with self._lock:
            self._check_share(client, tokens)
            self._check_time(client, tokens, deadline)

    def _check_share(self, client: str, tokens: int) -> None:
        if not self._shares.has_room(client, tokens):
            raise overloaded(self.work_seconds)

    def _check_time(self, client: str, tokens: float, deadline: float) -> None:
        allowed = _WAITING_SHARE * (deadline - time.monotonic())
        waiting = [(work.client, self.costs.waiting_tokens([work])) for work in self._waiting]
        before = self._taken_tokens + work_before(client, tokens, waiting)
        if self.tokens and before > allowed * self._speed:
            everything = self.costs.waiting_tokens(self._waiting) + self._taken_tokens
            raise overloaded(everything / self._speed - allowed)

    @property
    def _taken_tokens(self) -> float:
        """Return the cost of the batches that are being scored."""
        pieces = (piece for slot in self.slots for piece in slot.batch)
        return sum(self.costs.list_tokens(piece.work.kind, piece.tokens) for piece in pieces)

    @property
    def work_seconds(self) -> float:
        """Estimate the seconds until all lists that wait and all batches have been scored. Texts
        that wait do not count: they take no room from lists."""
        lists = self.costs.waiting_tokens(work for work in self._waiting if not work.is_text)
        return (lists + self._taken_tokens) / self._speed

    @property
    def _speed(self) -> float:
        """Return the list tokens a second of all engines."""
        return self.costs.speed * len(self.engines)

    def set_ready(self, engine: EngineSlots, is_ready: bool) -> None:
        """Set whether the slots of an engine take batches."""
        with self._lock:
            engine.is_ready = is_ready
            self._wake()

    def _wake(self) -> None:
        """Resume the threads of slots that might find a batch; each costs the answering thread a
        turn."""
        if self._waiting or self.is_closed:
            for slot in self.slots:
                # The other two only score beside larger work.
                busy = slot.engine.busy
                is_large = bool(busy) and not busy[0].work.is_small
                if slot is slot.engine.main or is_large or self.is_closed:
                    slot.changed.notify()

    def next_batch(self, slot: Slot) -> list[Piece]:
        """Wait for the slot's next batch: pieces for one ensemble, about half a second's work. The
        batch is empty once the queue is closed. The slot's previous batch counts as done."""
        with self._lock:
            if slot.batch:
                self._returning = self._returning_after(slot)
            slot.batch = []
            self._wake()
            while not slot.batch and not self.is_closed:
                if slot is slot.engine.first and not self._next(slot, None):
                    slot.engine.main.resume()
                slot.changed.wait_for(lambda: self.is_closed or self._next(slot, None))
                if not any(other.batch for other in self.slots):
                    self._wait_for_more(slot)
                slot.begin(self._take(slot))
            main = slot.engine.main
            if slot is slot.engine.first and slot.batch and not main.is_paused:
                main.pause()
                self._metrics.paused.inc()
            self._wake()  # another slot may start now
            return slot.batch

    def _returning_after(self, slot: Slot) -> _Returning:
        """Return how many requests may come back after a slot's batch or wait already, and for how
        long the slot waits for them."""
        now = time.monotonic()
        seconds = min(_RETURN_SHARE * (now - slot.begun), _MOST_RETURN_SECONDS)
        requests = {piece.work for piece in slot.batch}.union(self._waiting)
        return _Returning(now + seconds, len(requests))

    def _wait_for_more(self, slot: Slot) -> None:
        """Wait a moment for more requests to score together; the device was idle anyway."""
        until, requests = self._returning

        def is_enough() -> bool:
            if not 0 < self.costs.waiting_tokens(self._waiting) < self.costs.batch_tokens:
                return True
            return len(self._waiting) >= requests and time.monotonic() < until

        slot.changed.wait_for(is_enough, max(until - time.monotonic(), self.batch_wait))

    def _take(self, slot: Slot) -> list[Piece]:
        """Take the pieces of the slot's next batch out of the queue, in fair order."""
        batch: list[Piece] = []
        size, longest, head_started = 0, 0, set[str]()
        while work := self._next(slot, batch[0].work if batch else None):
            piece = work.pieces[work.taken]
            size, longest = size + piece.tokens, max(longest, piece.longest)
            cost = self.costs.cost(self.costs.list_tokens(work.kind, size), longest)
            if self._waiting.has_head_start(work.client):
                head_started.add(work.client)
            if not batch:
                slot.may_pause = self._is_long(slot, work)
            is_short = bool(head_started) or not slot.may_pause
            most = self._short_tokens(slot, work) if is_short else self.costs.batch_tokens
            is_full = cost > most or size > self._settings.batch_tokens
            # A client with a head start does not wait for the pieces of clients without one.
            if batch and (is_full or (head_started and work.client not in head_started)):
                break
            if work.taken == 0:
                self._metrics.queue_wait.observe(time.monotonic() - work.since)
            batch.append(work.next_piece())
            self._waiting.charge(work, self.costs.piece_cost(piece))
            if not work.is_text:
                self._shares.give_back(work.client, piece.tokens)
            if work.taken == len(work.pieces):
                self._waiting.remove(work)
        return batch

    def _is_long(self, slot: Slot, work: Work) -> bool:
        """Return whether a batch that begins with the next piece of a request is long."""
        is_short = self.costs.piece_cost(work.pieces[work.taken]) <= self._short_tokens(slot, work)
        return not work.is_small and not (is_short and self._waiting.has_head_start(work.client))

    def _short_tokens(self, slot: Slot, work: Work) -> int:
        """Return the largest cost of a short batch that begins with ``work``."""
        seconds = _SHORT_TEXT_SECONDS if work.is_text else _SHORT_BATCH_SECONDS
        return self.costs.tokens_in(seconds * slot.threads / slot.engine.main.threads)

    def _next(self, slot: Slot, first: Work | None) -> Work | None:
        """Return the request with the least virtual time that may be scored in the slot, in a batch
        with ``first``."""
        for work in self._waiting:
            if work.is_over:
                self.remove(work)
        engine = slot.engine
        is_too_long = engine.main.paused_seconds > _MOST_PAUSED_SECONDS
        if not engine.is_ready or (slot is engine.first and is_too_long):
            return None
        fitting = [
            work
            for work in self._waiting
            if work.waits
            and self._may_score(slot, work)
            and (first is None or _go_together(work, first))
        ]
        if slot is engine.small and fitting:
            # A very small request does not overtake a client that has been served far less.
            served = self._waiting.served
            most = min(served(work.client) for work in self._waiting) + self.costs.head_start
            fitting = [work for work in fitting if served(work.client) <= most]
        turn = self._waiting.turn
        is_long = slot.may_pause
        # Small work that another slot could take yields this slot.
        if first is None and not engine.small.batch:
            large = (work for work in fitting if not work.is_small)
            first = min(large, key=turn, default=None)
            is_long = first is not None and self._is_long(slot, first)
        if first is not None:
            fitting = [work for work in fitting if _are_mixed(work, first, is_long)]
        return min(fitting, key=turn, default=None)

    def _may_score(self, slot: Slot, work: Work) -> bool:
        """Return whether the slot may score a request now, whosever turn it is."""
        engine = slot.engine
        if slot is engine.main:
            return not engine.first.batch  # one of the two at a time
        if slot is engine.first:
            piece = work.pieces[work.taken]
            seconds = self.costs.piece_seconds(piece)
            is_bound = not work.is_small and self._waiting.has_head_start(work.client)
            are_busy = all(other.busy for other in self.engines if other.is_ready)
            may_pause = engine.main.may_pause and engine.main.is_for_others(work.client)
            return is_bound and are_busy and may_pause and seconds <= _FIRST_SECONDS
        # Small work that fits the current batch waits: the next batch of its kind takes it.
        busy, is_long = engine.busy, bool(engine.first.batch) or engine.main.may_pause
        return work.is_small and bool(busy) and not _are_mixed(work, busy[0].work, is_long)

    def deliver(self, work: Work, lists: int) -> None:
        """Record how many lists of a request its answer has taken so far."""
        with self._lock:
            work.delivered = lists
            if work.is_text and work in self._waiting:
                self._wake()

    def remove(self, work: Work) -> None:
        """Drop the waiting pieces of a request. A batch is stopped once all its requests are
        over."""
        with self._lock:
            if work in self._waiting:
                if not work.is_text:
                    self._shares.give_back(work.client, work.waiting_tokens)
                self._metrics.unscored.inc(work.waiting_tokens)
                self._waiting.remove(work)
            for slot in self.slots:
                if slot.batch and all(piece.work.is_over for piece in slot.batch):
                    slot.cancellation.cancel()

    def drop(self, slot: Slot, all_waiting: bool) -> set[Work]:
        """Drop and return the requests of the slot's batch, and with ``all_waiting`` every other
        request."""
        with self._lock:
            dropped = {piece.work for piece in slot.batch}
            slot.batch = []
            if not self.is_closed:  # the next batch has not been cancelled
                slot.begin([])
            if slot is slot.engine.first:
                slot.engine.main.resume()
            if all_waiting:
                dropped |= {*self._waiting}
            for work in dropped:
                self.remove(work)
            self._wake()
            return dropped

    def close(self) -> set[Work]:
        """Admit no more requests; drop and return all."""
        with self._lock:
            self.is_closed = True
            dropped = set()
            for slot in self.slots:
                slot.cancellation.cancel()
                dropped |= self.drop(slot, all_waiting=True)
            self._wake()
            return dropped


def _are_mixed(work: Work, other: Work, is_long: bool) -> bool:
    """Return whether one batch may have both works. Small work does not wait for large work, except
    that sentences are parsed together in a short batch."""
    return work.is_small == other.is_small or (work.is_text and other.is_text and not is_long)


def _go_together(work: Work, other: Work) -> bool:
    """Return whether one batch can have pieces of both works: they have the same models, both are
    lists or both sentences, and the same scores are wanted."""
    is_alike = work.is_text == other.is_text and work.best == other.best
    return is_alike and work.models is other.models
