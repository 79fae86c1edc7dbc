"""The slots of an engine: a place for a batch that is being scored, which can be paused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from reranker.process.cancellation import Cancellation
from reranker.service.scheduling.work import Piece


@dataclass(eq=False)
class Slot:
    """A place for one batch that is being scored."""

    name: str
    place: int
    """The slot's lane in its engine: 0 for the main slot, 1 for clients with a head start, 2 for
    very small requests."""
    threads: int
    niceness: int
    """The niceness of the slot's threads: lower for smaller work, 0 for the threads that answer."""
    batch: list[Piece] = field(default_factory=list)
    cancellation: Cancellation = field(default_factory=Cancellation)
    """Cancels the batch, once every request in it has been cancelled or has finished."""
    may_pause: bool = False
    """Whether the batch may be paused: long batches may. A batch is short if it begins with a very
    small request, or with a short one of a client with a head start."""
    was_paused: bool = False
    begun: float = 0.0
    """The time at which the batch began, by time.monotonic()."""
    engine: EngineSlots = field(init=False)
    changed: threading.Condition = field(init=False)
    """The condition that the slot's thread waits for; all conditions share the queue's lock."""
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
        self.first = Slot("scoring for a head start", 1, threads, niceness=5)
        self.small = Slot("scoring very small requests", 2, 1, niceness=2)
        self.is_ready = True
        """True if the engine's child can score; else the slots take nothing."""
        for slot in self:
            slot.engine = self

    def __iter__(self) -> Iterator[Slot]:
        return iter((self.main, self.first, self.small))

    @property
    def busy(self) -> list[Piece]:
        """Return the batch that is being scored, unless it is of very small requests."""
        return self.first.batch or self.main.batch
