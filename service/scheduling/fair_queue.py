"""Whose turn it is: clients take turns, and so do the requests of each client.

Start-time fair queueing (Goyal, Vin and Cheng 1996): the one that has been given least is next,
counted from when it came, so that neither a huge request nor many requests of one client hold up
others. What is given is counted in tokens for scoring, in words for parsing, and in CPU time for
reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

_A_WHILE = 10.0  # seconds

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """How much each has been given."""

    def __init__(self) -> None:
        self._given: dict[Who, float] = {}
        self._gone: dict[Who, tuple[float, float]] = {}  # what they had, and when they left
        self._next_look = 0.0
        self._now = 0.0  # what everybody here has been given
        self._empty_since = time.monotonic()

    def join(self, who: Who, ahead: float = 0.0) -> None:
        """A newcomer has no claim to what others were given before. A client that has not asked for
        a while is given ``ahead``, which takes a second, before it is the turn of others; nor is
        what clients were given while nobody else waited held against them."""
        if not self._given:
            self._now += ahead * (time.monotonic() - self._empty_since)
        if who not in self._given:
            had, left = self._gone.pop(who, (0.0, -math.inf))
            start = self._now - ahead
            self._given[who] = max(start, had) if time.monotonic() - left < _A_WHILE else start

    def leave(self, who: Who, will_be_back: bool = False) -> None:
        """With ``will_be_back``, what it has been given is remembered for a while."""
        given, now = self._given.pop(who), time.monotonic()
        if will_be_back:
            self._gone[who] = given, now
        if not self._given:
            self._empty_since = now
        if now > self._next_look:
            self._next_look = now + _A_WHILE / 10
            self._gone = {each: had for each, had in self._gone.items() if now - had[1] < _A_WHILE}

    def give(self, who: Who, amount: float) -> None:
        self._given[who] += amount
        self._now = max(self._now, min(self._given.values()))

    def given(self, who: Who) -> float:
        """What it has been given; the least is next."""
        return self._given[who]

    def is_ahead(self, who: Who) -> bool:
        """Whether there is something left of what they were given ahead; if they have left, of
        what they had."""
        had, _ = self._gone.get(who, (math.inf, 0.0))
        return self._given.get(who, had) < self._now


class _Asks(Protocol):
    @property
    def client(self) -> str: ...


Asking = TypeVar("Asking", bound=_Asks)


class FairQueue(Generic[Asking]):
    """Requests that wait, in two levels of turns: of the clients, and of a client's requests."""

    def __init__(self) -> None:
        self._waiting: dict[int, Asking] = {}  # by identity
        self._clients: Turns[str] = Turns()
        self._requests: Turns[int] = Turns()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Asking]:
        """Those that wait, as they came."""
        return iter(list(self._waiting.values()))

    def __contains__(self, request: Asking) -> bool:
        return id(request) in self._waiting

    def add(self, request: Asking, ahead: float = 0.0) -> None:
        """``ahead``: see ``Turns.join``, for its client."""
        self._clients.join(request.client, ahead)
        self._requests.join(id(request))
        self._waiting[id(request)] = request

    def remove(self, request: Asking) -> None:
        """It waits for nothing more."""
        del self._waiting[id(request)]
        self._requests.leave(id(request))
        if all(other.client != request.client for other in self._waiting.values()):
            self._clients.leave(request.client, will_be_back=True)

    def charge(self, request: Asking, amount: float) -> None:
        """Count what a request that is in the queue has been given."""
        self._clients.give(request.client, amount)
        self._requests.give(id(request), amount)

    def next(self, may_begin: Callable[[Asking], bool]) -> Asking | None:
        """Whose turn it is, among those that may begin."""
        return min(filter(may_begin, self), key=self.turn, default=None)

    def turn(self, request: Asking) -> tuple[float, float]:
        """The least is next."""
        return self._clients.given(request.client), self._requests.given(id(request))

    def given(self, client: str) -> float:
        """What a client who waits has been given."""
        return self._clients.given(client)

    def is_ahead(self, client: str) -> bool:
        return self._clients.is_ahead(client)
