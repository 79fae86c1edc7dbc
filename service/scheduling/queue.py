"""The queue of requests that wait to be scored.

A request is admitted if it can be expected to be scored in time, and if its client does not hold
most of what waits. Clients take turns, and so do the requests of each, piece by piece. A score does
not depend on what is scored beside it, so neither does an answer.

Each engine has three slots, with threads of their own. The main one scores everything, lists as a
whole where that is possible. What is very small is scored beside it. When a client comes first, the
main slot's batch is paused while another slot scores for it; nothing is lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reranker.process.cancellation import Cancellation
from reranker.process.machine import available_cores
from reranker.service.errors import draining
from reranker.service.fairness import Shares, amount_ahead, overloaded
from reranker.service.metrics import Metrics
from reranker.service.scheduling.fair_queue import FairQueue
from reranker.service.scheduling.work import EVERY_CANDIDATE, Kind, Piece, Work
from reranker.service.settings import Settings

# Largest expected wait, as a share of the time to the deadline: the speed is only an estimate.
_WAITING_SHARE = 0.5

# How long a batch takes if nothing else is scored, but for a list that takes longer by itself.
_BATCH_SECONDS = 0.5

BATCH_WAIT_SECONDS = 0.003
"""Seconds that an idle device waits for more requests to score together."""

# Clients whose requests ended together often ask again at once. So after a batch the wait is this
# share of the batch's time, at most so many seconds.
_RETURN_SHARE, _MOST_RETURN_SECONDS = 0.15, 0.03

# A batch of what is very small, or for clients that come first: the next of them wait for it.
_SHORT_BATCH_SECONDS = 0.15

# The same of sentences, which gain more from being computed together than lists.
_SHORT_TEXT_SECONDS = 0.25

# What takes longer comes first only where nothing need be paused for it.
_FIRST_SECONDS = 0.3

# A list that takes longer is cut: candidates share what they begin with, which each part computes
# again, so smaller pieces cost more in all (docs/research/performance.md).
_PIECE_SECONDS = 2.0

# What takes no longer is very small.
_SMALL_SECONDS = 0.05

# Clients that have asked for little lately come first, until they have been given what takes so
# many seconds if nothing else is scored.
_AHEAD_SECONDS = 1.0

# Once a batch has been paused for so long, nothing more goes before it.
_MOST_PAUSED_SECONDS = 2.0

# A batch takes at most so many times as long while everything else is busy, too.
_LOAD = 3.0


@dataclass(eq=False)
class Slot:
    """A place for one batch that is being scored."""

    name: str
    place: int
    """In its engine: 0 is the main slot, 1 what comes first, 2 what is very small."""
    threads: int
    niceness: int
    """Lower for smaller work; the threads that answer have none."""
    batch: list[Piece] = field(default_factory=list)
    cancellation: Cancellation = field(default_factory=Cancellation)
    """Cancels the batch, once every request in it has been cancelled or has finished."""
    may_pause: bool = False
    """Permission to wait for others, which long batches have. Short ones begin with a very small
    request or with one of a client that comes first."""
    was_paused: bool = False
    begun: float = 0.0
    """The time at which the batch began, by time.monotonic()."""
    engine: EngineSlots = field(init=False)
    changed: threading.Condition = field(init=False)
    """The slot's thread waits for it; all slots' conditions share the queue's lock."""
    _paused: float = 0.0
    _since: float | None = None

    def begin(self, batch: list[Piece]) -> None:
        self.batch, self.cancellation, self.begun = batch, Cancellation(), time.monotonic()
        self.was_paused, self._paused, self._since = False, 0.0, None

    def pause(self) -> None:
        self.was_paused, self._since = True, time.monotonic()
        self.cancellation.pause()

    def resume(self) -> None:
        self._paused, self._since = self.paused_seconds, None
        self.cancellation.resume()

    def is_for_others(self, client: str) -> bool:
        """Return whether the slot has a batch, and none of the batch is the client's."""
        return bool(self.batch) and all(piece.work.client != client for piece in self.batch)

    @property
    def is_paused(self) -> bool:
        return self._since is not None

    @property
    def paused_seconds(self) -> float:
        """Return how long the batch has been paused so far."""
        return self._paused + (time.monotonic() - self._since if self._since is not None else 0.0)


class EngineSlots:
    """The slots of one engine."""

    def __init__(self, threads: int) -> None:
        self.main = Slot("scoring", 0, threads, niceness=8)
        self.first = Slot("scoring what comes first", 1, threads, niceness=5)
        self.small = Slot("scoring very small requests", 2, 1, niceness=2)
        self.is_ready = True
        """Whether its child can score; else its slots take nothing."""
        for slot in self:
            slot.engine = self

    def __iter__(self) -> Iterator[Slot]:
        return iter((self.main, self.first, self.small))

    @property
    def busy(self) -> list[Piece]:
        """Return the batch that is scored, but for very small requests."""
        return self.first.batch or self.main.batch


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
        threads = settings.threads or max(1, available_cores() // settings.engines)
        self.engines = [EngineSlots(threads) for _ in range(settings.engines)]
        self.slots = [slot for engine in self.engines for slot in engine]
        for slot in self.slots:
            slot.changed = threading.Condition(self._lock)
        self.speed = 10_000.0
        """Tokens a second of one engine; measured by the warm-up and by every full batch."""
        self.least_tokens = 0
        """A shorter list takes as long as one of so many; measured by the warm-up."""
        self.step_tokens = 0.0
        """Each token of a single tree takes as long as so many of a list; measured, too."""
        self._token_costs: dict[Kind, float] = {}
        """Each token of such work takes as long as so many of a list; measured, too."""
        self.batch_wait = BATCH_WAIT_SECONDS
        self._returning = _Returning(0.0, 0)
        self._idle_speed = 0.0  # nothing else was being scored
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

    @property
    def batch_tokens(self) -> int:
        """Return the tokens that are scored in half a second while nothing else is."""
        return self._tokens_in(_BATCH_SECONDS)

    @property
    def piece_tokens(self) -> int:
        """Return the tokens of the largest piece; a list that has more is cut."""
        return self._tokens_in(_PIECE_SECONDS)

    def _tokens_in(self, seconds: float) -> int:
        return max(1, min(self._settings.batch_tokens, int(seconds * self._batch_speed)))

    @property
    def _batch_speed(self) -> float:
        # While other slots are busy, too, it takes longer, but smaller batches cost more in all.
        return max(self.speed, self._idle_speed / 2)

    def add(self, work: Work) -> None:
        """Admit a request. Raises RequestError 429 if the queue is full, or too long for the
        deadline, and 503 if it is closed."""
        with self._lock:
            if self.is_closed:
                raise draining()
            if not work.is_text:
                self._check_share(work.client, work.tokens)
            tokens = self._list_tokens(work.kind, work.tokens)
            self._check_time(work.client, tokens, work.deadline)
            longest = max((piece.longest for piece in work.pieces), default=0)
            work.is_small = self._cost(tokens, longest) <= self._tokens_in(_SMALL_SECONDS)
            if not work.is_text:  # sentences take little memory before their turn comes
                self._shares.take(work.client, work.tokens)
            self._waiting.add(work, self._ahead)
            self._wake()

    def check_room(self, client: str, tokens: int, deadline: float) -> None:
        """Raise RequestError 429 unless a request for so many tokens would be admitted."""
        with self._lock:
            self._check_share(client, tokens)
            self._check_time(client, tokens, deadline)

    def _check_share(self, client: str, tokens: int) -> None:
        if not self._shares.has_room(client, tokens):
            raise overloaded(self.work_seconds)

    def _check_time(self, client: str, tokens: float, deadline: float) -> None:
        allowed = _WAITING_SHARE * (deadline - time.monotonic())
        waiting = [(work.client, self._waiting_tokens([work])) for work in self._waiting]
        ahead = self._taken_tokens + amount_ahead(client, tokens, waiting)
        if self.tokens and ahead > allowed * self._speed:
            everything = self._waiting_tokens(self._waiting) + self._taken_tokens
            raise overloaded(everything / self._speed - allowed)

    @property
    def _taken_tokens(self) -> float:
        """Return the list tokens that are being scored."""
        pieces = (piece for slot in self.slots for piece in slot.batch)
        return sum(self._list_tokens(piece.work.kind, piece.tokens) for piece in pieces)

    @property
    def work_seconds(self) -> float:
        """Estimate the seconds that it takes to score all lists that wait, and what has begun.
        Texts that wait take no room from others."""
        lists = self._waiting_tokens(work for work in self._waiting if not work.is_text)
        return (lists + self._taken_tokens) / self._speed

    @property
    def _speed(self) -> float:
        """Return the tokens a second of all engines."""
        return self.speed * len(self.engines)

    def set_ready(self, engine: EngineSlots, is_ready: bool) -> None:
        """Let the slots of an engine take batches, or not."""
        with self._lock:
            engine.is_ready = is_ready
            self._wake()

    def _wake(self) -> None:
        """Resume the threads of slots that might take something; each costs the answering thread a
        turn."""
        if self._waiting or self.is_closed:
            for slot in self.slots:
                # The other two only score beside larger work.
                busy = slot.engine.busy
                is_large = bool(busy) and not busy[0].work.is_small
                if slot is slot.engine.main or is_large or self.is_closed:
                    slot.changed.notify()

    def learn_first(
        self, tokens: int, seconds: float, shortest: float = 0.0, step: float = 0.0
    ) -> None:
        """Learn from the seconds of a first list, of the shortest, and of one tree's tokens."""
        self.speed = self._idle_speed = _speed(tokens, seconds)
        self.least_tokens, self.step_tokens = int(self.speed * shortest), self.speed * step

    def learn_kind(self, kind: Kind, tokens: int, seconds: float) -> None:
        """Learn from the seconds of a first work of another kind."""
        self._token_costs[kind] = self.speed / _speed(tokens, seconds)

    def _list_tokens(self, kind: Kind, tokens: int) -> float:
        """Return the tokens of a list that take as long as so many of this kind of work."""
        return self._token_costs.get(kind, 1.0) * tokens

    def _waiting_tokens(self, works: Iterable[Work]) -> float:
        return sum(self._list_tokens(work.kind, work.waiting_tokens) for work in works)

    def _cost(self, tokens: float, longest: int) -> int:
        """Return the tokens of a list that would take as long, from list tokens. A tree's tokens
        are computed one after another, so the longest tree says how long the work takes at
        least."""
        return max(round(tokens), self.least_tokens, int(longest * self.step_tokens))

    def _piece_cost(self, piece: Piece) -> int:
        return self._cost(self._list_tokens(piece.work.kind, piece.tokens), piece.longest)

    def learn_speed(self, tokens: int, seconds: float, kind: Kind = EVERY_CANDIDATE) -> None:
        """Take into account how long a batch took. Small ones are slower and say nothing."""
        speed, usual = _speed(tokens, seconds), self.speed / self._token_costs.get(kind, 1.0)
        if self._list_tokens(kind, tokens) > self.batch_tokens / 2 or speed > usual:
            usual += 0.3 * (speed - usual)
            if kind == EVERY_CANDIDATE:
                self.speed = usual
            else:
                self._token_costs[kind] = self.speed / usual

    def learn_again(self, tokens: int, seconds: float) -> None:
        """Take into account how long a first list took with other models, perhaps beside others."""
        speed = _speed(tokens, seconds)
        self._idle_speed = min(max(self._idle_speed, speed), _LOAD * speed)

    def next_batch(self, slot: Slot) -> list[Piece]:
        """Wait for pieces for one ensemble, about half a second's work; empty once the queue is
        closed. The slot's previous batch counts as done."""
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
        """Return the requests that may come back after a slot's batch, or wait already."""
        now = time.monotonic()
        seconds = min(_RETURN_SHARE * (now - slot.begun), _MOST_RETURN_SECONDS)
        requests = {piece.work for piece in slot.batch}.union(self._waiting)
        return _Returning(now + seconds, len(requests))

    def _wait_for_more(self, slot: Slot) -> None:
        """Wait a moment, since the device was idle, for more requests to score together."""
        until, requests = self._returning

        def is_enough() -> bool:
            if not 0 < self._waiting_tokens(self._waiting) < self.batch_tokens:
                return True
            return len(self._waiting) >= requests and time.monotonic() < until

        slot.changed.wait_for(is_enough, max(until - time.monotonic(), self.batch_wait))

    def _take(self, slot: Slot) -> list[Piece]:
        batch: list[Piece] = []
        size, longest, ahead = 0, 0, set[str]()
        while work := self._next(slot, batch[0].work if batch else None):
            piece = work.pieces[work.taken]
            size, longest = size + piece.tokens, max(longest, piece.longest)
            cost = self._cost(self._list_tokens(work.kind, size), longest)
            is_ahead = self._waiting.is_ahead(work.client)
            if is_ahead:
                ahead.add(work.client)
            if not batch:
                slot.may_pause = self._is_long(slot, work)
            is_short = bool(ahead) or not slot.may_pause
            most = self._short_tokens(slot, work) if is_short else self.batch_tokens
            is_full = cost > most or size > self._settings.batch_tokens
            # Who comes first does not wait for others' pieces to be scored with theirs.
            if batch and (is_full or (ahead and work.client not in ahead)):
                break
            if work.taken == 0:
                self._metrics.queue_wait.observe(time.monotonic() - work.since)
            batch.append(work.next_piece())
            self._waiting.charge(work, self._piece_cost(piece))
            if not work.is_text:
                self._shares.give_back(work.client, piece.tokens)
            if work.taken == len(work.pieces):
                self._waiting.remove(work)
        return batch

    def _is_long(self, slot: Slot, work: Work) -> bool:
        """Return whether a batch that begins with the next piece of a request is long."""
        is_short = self._piece_cost(work.pieces[work.taken]) <= self._short_tokens(slot, work)
        return not work.is_small and not (is_short and self._waiting.is_ahead(work.client))

    def _short_tokens(self, slot: Slot, work: Work) -> int:
        """Return the most list tokens of a short batch of such work."""
        seconds = _SHORT_TEXT_SECONDS if work.is_text else _SHORT_BATCH_SECONDS
        return self._tokens_in(seconds * slot.threads / slot.engine.main.threads)

    def _next(self, slot: Slot, first: Work | None) -> Work | None:
        """Return the request with the least virtual time among those that may be scored in the
        slot, together with ``first``."""
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
            # Very small requests do not pass clients that have been given far less.
            given = self._waiting.given
            most = min(given(work.client) for work in self._waiting) + self._ahead
            fitting = [work for work in fitting if given(work.client) <= most]
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
        engine = slot.engine
        if slot is engine.main:
            return not engine.first.batch  # one of the two at a time
        if slot is engine.first:
            piece = work.pieces[work.taken]
            seconds = self._piece_cost(piece) / self._batch_speed
            is_bound = not work.is_small and self._waiting.is_ahead(work.client)
            are_busy = all(other.busy for other in self.engines if other.is_ready)
            may_pause = engine.main.may_pause and engine.main.is_for_others(work.client)
            return is_bound and are_busy and may_pause and seconds <= _FIRST_SECONDS
        # Small work waits for batches in which it could be: the next will have it.
        busy, is_long = engine.busy, bool(engine.first.batch) or engine.main.may_pause
        return work.is_small and bool(busy) and not _are_mixed(work, busy[0].work, is_long)

    @property
    def _ahead(self) -> float:
        return _AHEAD_SECONDS * self._idle_speed

    def deliver(self, work: Work, lists: int) -> None:
        """Record that so many lists of a request have been taken in all."""
        with self._lock:
            work.delivered = lists
            if work.is_text and work in self._waiting:
                self._wake()

    def remove(self, work: Work) -> None:
        """Drop what waits of a request; a batch is stopped if all of it is for requests that are
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
        """Drop and return the requests of the slot's batch, or all that wait as well."""
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
        """Admit nothing more; drop and return all requests."""
        with self._lock:
            self.is_closed = True
            dropped = set()
            for slot in self.slots:
                slot.cancellation.cancel()
                dropped |= self.drop(slot, all_waiting=True)
            self._wake()
            return dropped


def _speed(tokens: int, seconds: float) -> float:
    return tokens / max(seconds, 1e-4)


def _are_mixed(work: Work, other: Work, is_long: bool) -> bool:
    """Return whether a batch may have both, long or not: small work does not wait for large work,
    but for sentences to be parsed together in a short batch."""
    return work.is_small == other.is_small or (work.is_text and other.is_text and not is_long)


def _go_together(work: Work, other: Work) -> bool:
    """Return whether a batch may have pieces of both: neither ensembles are mixed nor lists and
    sentences, nor works of which other scores are wanted."""
    is_alike = work.is_text == other.is_text and work.best == other.best
    return is_alike and work.models is other.models
