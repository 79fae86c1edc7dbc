"""Fair queueing of clients, and of the requests of each client, by virtual time.

Start-time fair queueing (Goyal, Vin and Cheng 1996): the client with the least virtual time, which
is the service that the client has received since its arrival, is next. So neither a huge request
nor many requests of one client hold up others. Service is counted in tokens for scoring, and in
seconds of CPU time for reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

_MEMORY_SECONDS = 10.0

Who = TypeVar("Who", bound=Hashable)


class FairOrder(Generic[Who]):
    """Virtual times: the service that each client or request has received."""

    def __init__(self) -> None:
        self._served: dict[Who, float] = {}
        self._gone: dict[Who, tuple[float, float]] = {}  # service received, and time of leaving
        self._next_look = 0.0
        self._level = 0.0  # the service that everybody present has received
        self._empty_since = time.monotonic()

    def join(self, who: Who, head_start: float = 0.0) -> None:
        """Add a client at the current service level; one that was idle starts ``head_start`` ahead.

        ``head_start`` takes a second. The level rises with time while nobody is present, so that a
        client is not charged for service that nobody else waited for.
        """
        if not self._served:
            self._level += head_start * (time.monotonic() - self._empty_since)
        if who not in self._served:
            served, left = self._gone.pop(who, (0.0, -math.inf))
            start = self._level - head_start
            is_back = time.monotonic() - left < _MEMORY_SECONDS
            self._served[who] = max(start, served) if is_back else start

    def leave(self, who: Who, will_be_back: bool = False) -> None:
        """Remove a client or request; one that ``will_be_back`` is remembered for some seconds."""
        served, now = self._served.pop(who), time.monotonic()
        if will_be_back:
            self._gone[who] = served, now
        if not self._served:
            self._empty_since = now
        if now > self._next_look:
            self._next_look = now + _MEMORY_SECONDS / 10
            self._gone = {
                each: gone for each, gone in self._gone.items() if now - gone[1] < _MEMORY_SECONDS
            }

    def serve(self, who: Who, amount: float) -> None:
        """Count service that a client or request receives."""
        self._served[who] += amount
        self._level = max(self._level, min(self._served.values()))

    def served(self, who: Who) -> float:
        """Return the service received; the client or request with the least is next."""
        return self._served[who]

    def has_head_start(self, who: Who) -> bool:
        """Return whether a client has some of its head start left, or had when the client left."""
        served, _ = self._gone.get(who, (math.inf, 0.0))
        return self._served.get(who, served) < self._level


class _Asks(Protocol):
    @property
    def client(self) -> str: ...


Asking = TypeVar("Asking", bound=_Asks)


class FairQueue(Generic[Asking]):
    """Waiting requests under two levels of virtual time: of clients, and of a client's requests."""

    def __init__(self) -> None:
        self._waiting: dict[int, Asking] = {}  # by identity
        self._clients: FairOrder[str] = FairOrder()
        self._requests: FairOrder[int] = FairOrder()

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Asking]:
        """Yield the waiting requests in order of arrival."""
        return iter(list(self._waiting.values()))

    def __contains__(self, request: Asking) -> bool:
        return id(request) in self._waiting

    def add(self, request: Asking, head_start: float = 0.0) -> None:
        """Add a request; its client may get a head start (``FairOrder.join``)."""
        self._clients.join(request.client, head_start)
        self._requests.join(id(request))
        self._waiting[id(request)] = request

    def remove(self, request: Asking) -> None:
        """Remove a request that is served or given up."""
        del self._waiting[id(request)]
        self._requests.leave(id(request))
        if all(other.client != request.client for other in self._waiting.values()):
            self._clients.leave(request.client, will_be_back=True)

    def charge(self, request: Asking, amount: float) -> None:
        """Count service that a request in the queue receives."""
        self._clients.serve(request.client, amount)
        self._requests.serve(id(request), amount)

    def next(self, may_begin: Callable[[Asking], bool]) -> Asking | None:
        """Return the request with the least virtual time for which ``may_begin`` is true."""
        return min(filter(may_begin, self), key=self.turn, default=None)

    def turn(self, request: Asking) -> tuple[float, float]:
        """Return the virtual times of the client and of the request; the least is next."""
        return self._clients.served(request.client), self._requests.served(id(request))

    def served(self, client: str) -> float:
        """Return the service that a waiting client has received."""
        return self._clients.served(client)

    def has_head_start(self, client: str) -> bool:
        return self._clients.has_head_start(client)
