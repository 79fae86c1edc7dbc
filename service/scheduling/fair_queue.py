"""Fair queueing of clients, and of the requests of each client, by virtual time.

Start-time fair queueing (Goyal, Vin and Cheng 1996): the client with the least virtual time, the
service given to the client since its arrival, is next, so that neither a huge request nor many
requests of one client hold up others. Service is counted in tokens for scoring and in CPU time for
reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

_MEMORY_SECONDS = 10.0

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """Virtual times: the service that was given to each client or request."""

    def __init__(self) -> None:
        self._given: dict[Who, float] = {}
        self._gone: dict[Who, tuple[float, float]] = {}  # what they had, and when they left
        self._next_look = 0.0
        self._now = 0.0  # what everybody here has been given
        self._empty_since = time.monotonic()

    def join(self, who: Who, ahead: float = 0.0) -> None:
        """Add a newcomer, who has no claim to what others were given before. A client that has not
        asked for a while is given ``ahead``, which takes a second, before others; nor are clients
        charged for service while nobody else waited."""
        if not self._given:
            self._now += ahead * (time.monotonic() - self._empty_since)
        if who not in self._given:
            had, left = self._gone.pop(who, (0.0, -math.inf))
            start = self._now - ahead
            self._given[who] = (
                max(start, had) if time.monotonic() - left < _MEMORY_SECONDS else start
            )

    def leave(self, who: Who, will_be_back: bool = False) -> None:
        """Remove a client or request; one that ``will_be_back`` is remembered for some seconds."""
        given, now = self._given.pop(who), time.monotonic()
        if will_be_back:
            self._gone[who] = given, now
        if not self._given:
            self._empty_since = now
        if now > self._next_look:
            self._next_look = now + _MEMORY_SECONDS / 10
            self._gone = {
                each: had for each, had in self._gone.items() if now - had[1] < _MEMORY_SECONDS
            }

    def give(self, who: Who, amount: float) -> None:
        self._given[who] += amount
        self._now = max(self._now, min(self._given.values()))

    def given(self, who: Who) -> float:
        """Return the service that was given; the least is next."""
        return self._given[who]

    def is_ahead(self, who: Who) -> bool:
        """Return whether a client has some of ``ahead`` left, or had when the client left."""
        had, _ = self._gone.get(who, (math.inf, 0.0))
        return self._given.get(who, had) < self._now


class _Asks(Protocol):
    @property
    def client(self) -> str: ...


Asking = TypeVar("Asking", bound=_Asks)


class FairQueue(Generic[Asking]):
    """Waiting requests under two levels of virtual time: of clients, and of a client's requests."""

    def __init__(self) -> None:
        self._waiting: dict[int, Asking] = {}  # by identity
        self._clients: Turns[str] = Turns()
        self._requests: Turns[int] = Turns()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Asking]:
        """Yield the waiting requests in order of arrival."""
        return iter(list(self._waiting.values()))

    def __contains__(self, request: Asking) -> bool:
        return id(request) in self._waiting

    def add(self, request: Asking, ahead: float = 0.0) -> None:
        """Add a request; ``ahead``: see ``Turns.join``, for its client."""
        self._clients.join(request.client, ahead)
        self._requests.join(id(request))
        self._waiting[id(request)] = request

    def remove(self, request: Asking) -> None:
        """Remove a request that waits for nothing more."""
        del self._waiting[id(request)]
        self._requests.leave(id(request))
        if all(other.client != request.client for other in self._waiting.values()):
            self._clients.leave(request.client, will_be_back=True)

    def charge(self, request: Asking, amount: float) -> None:
        """Count what a request that is in the queue has been given."""
        self._clients.give(request.client, amount)
        self._requests.give(id(request), amount)

    def next(self, may_begin: Callable[[Asking], bool]) -> Asking | None:
        """Return the request with the least virtual time among those that may begin."""
        return min(filter(may_begin, self), key=self.turn, default=None)

    def turn(self, request: Asking) -> tuple[float, float]:
        """Return the virtual times of the client and of the request; the least is next."""
        return self._clients.given(request.client), self._requests.given(id(request))

    def given(self, client: str) -> float:
        """Return the service that a waiting client was given."""
        return self._clients.given(client)

    def is_ahead(self, client: str) -> bool:
        return self._clients.is_ahead(client)
