"""Shares of clients in common resources, and the reasons for an answer with 429.

================  ===================================  =============================================
setting           what is bounded                      who is charged, and until when
================  ===================================  =============================================
queue_requests    requests at once (``Shares``)        the client, until its answer has been taken
queue_bytes       bytes of bodies (``BodyBytes``)      the same; small bodies are always received
queue_tokens      tokens that wait (``Shares``)        the client, until they are scored
client_rate       requests a second (``Rate``)         the client, for ten seconds
the deadline      time to score or parse               nobody: ``work_before`` is an estimate
connections       connections (``Connections``)        the address, until they are closed: not 429
================  ===================================  =============================================

A client is the label of a key, or else an address (of IPv6, a network). Of the first three
resources, one client holds at most three times the part that is still free. ``scheduling/queue.py``
asks for tokens, ``lifecycle.py`` for requests, ``http/arrival.py`` for bytes,
``http/connections.py`` for connections.
"""

from __future__ import annotations

import contextlib
import ipaddress
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from starlette.types import Scope

from reranker.service.errors import RequestError
from reranker.service.keys import INVALID_KEY, NO_KEY

# One client may hold this many times the free part: three quarters of everything when alone, so
# that there is always room for another. Choudhury and Hahne (1998), "Dynamic queue length
# thresholds for shared-memory packet switches", equation 1.
_TIMES_FREE = 3

# Seconds' worth of requests that a client may send at once.
_BURST_SECONDS = 10

# No client is told to wait longer than this, in seconds.
_LONGEST_PAUSE = 600

# Clients remembered, until those that have been quiet for long are forgotten.
_MOST_REMEMBERED = 10_000


def overloaded(seconds: float) -> RequestError:
    """Return a 429 for a full queue, in which there will probably be room after ``seconds``."""
    message = "too many requests are waiting; try again later"
    return RequestError(429, "queue-full", message, retry_after=_pause(seconds))


def too_often(seconds: float) -> RequestError:
    """Return a 429 for a client that may ask again after ``seconds``."""
    message = "this client asks more often than client_rate allows; try again later"
    return RequestError(429, "too-often", message, retry_after=_pause(seconds))


def _pause(seconds: float) -> int:
    """Return the seconds for Retry-After."""
    return math.ceil(min(_LONGEST_PAUSE, max(1.0, seconds)))


def work_before(client: str, amount: float, waiting: Sequence[tuple[str, float]]) -> float:
    """Return the amount of waiting work that will probably be done before the last piece of a
    request of ``amount``, given that clients take turns, and so do a client's requests. ``waiting``
    has the client of each other request, and the amount that is left of it."""
    total = sum(rest for _, rest in waiting)
    clients = {other for other, _ in waiting} | {client}
    own = [rest for other, rest in waiting if other == client]
    of_client = amount + min(sum(own), len(own) * amount)
    return min(total, len(clients) * of_client - amount)


def address(scope: Scope) -> str:
    """Return the address that a request comes from, or "unknown": a trusted proxy may pass on text
    that is no address."""
    host, _, _ = (scope.get("client") or ("",))[0].partition("%")  # a zone can be any text
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return "unknown"


def client(scope: Scope, label: str) -> str:
    """Return the client of a request: the ``label`` of its key, else its address or network."""
    if label not in (NO_KEY, INVALID_KEY):
        return f"key {label}"
    return network(address(scope))


def network(host: str) -> str:
    """Return an address, or the network of an IPv6 address, since everyone has a whole network."""
    return str(ipaddress.ip_network((host, 64), strict=False)) if ":" in host else host


class Shares:
    """A bounded resource, and how much of the resource each client holds."""

    def __init__(self, most: float) -> None:
        self.total = 0.0
        self._most = most
        self._held: defaultdict[str, float] = defaultdict(float)

    def has_room(self, client: str, amount: float) -> bool:
        """Return whether the client may hold ``amount`` more. An amount too large for any share is
        let in while nothing is held."""
        free = self._most - self.total - amount
        return self._held.get(client, 0) + amount <= _TIMES_FREE * free or not self.total

    def take(self, client: str, amount: float) -> None:
        self.total += amount
        self._held[client] += amount

    def give_back(self, client: str, amount: float) -> None:
        self.total -= amount
        self._held[client] -= amount
        if self._held[client] <= 0:
            del self._held[client]


class Rate:
    """A limit on each client's requests a second, on average (the algorithm of ITU-T I.371)."""

    def __init__(self, per_second: float | None) -> None:
        """Set the rate; None: no limit."""
        self._interval = 0.0 if per_second is None else 1 / per_second
        self._burst = max(_BURST_SECONDS, self._interval)
        self._due: dict[str, float] = {}  # when a client that kept to the rate would come next

    def seconds_to_wait(self, client: str) -> float:
        """Return the seconds until the client may ask again; 0: now, and asking counts."""
        if not self._interval:
            return 0.0
        now = time.monotonic()
        due = max(self._due.get(client, 0.0), now) + self._interval
        if due > now + self._burst:
            return due - now - self._burst
        if len(self._due) >= _MOST_REMEMBERED:
            self._due = {other: when for other, when in self._due.items() if when > now}
        self._due[client] = due
        return 0.0


class BodyBytes:
    """A limit on the bytes of all requests' bodies, since lists made of bodies take memory."""

    def __init__(self, most: int) -> None:
        self._shares = Shares(most)
        # ``queue_requests`` bounds small bodies, which should not wait for large ones.
        self._small = most // 256
        self._seconds = 0.0  # for which a large body is held: learned

    @contextlib.contextmanager
    def reserved(self, client: str) -> Iterator[Callable[[int, int], None]]:
        """Yield a function that reserves bytes for a request, from its current and its expected
        size. It raises RequestError 429 if the other requests leave too few bytes."""
        mine, since = 0, time.monotonic()

        def reserve(count: int, expected: int) -> None:
            nonlocal mine
            self._shares.give_back(client, mine)
            most = max(count, expected)
            has_room = most <= self._small or self._shares.has_room(client, most)
            mine = count if has_room else 0
            self._shares.take(client, mine)
            if not has_room:
                raise overloaded(1 + int(self._seconds))

        try:
            yield reserve
        finally:
            self._shares.give_back(client, mine)
            if mine > self._small:
                self._seconds += 0.3 * (time.monotonic() - since - self._seconds)


class _Connection(Protocol):
    address: str


Held = TypeVar("Held", bound=_Connection)


class Connections(Generic[Held]):
    """Open connections, by address. When there are too many, an idle connection is closed for each
    new one: the connection that has been idle for longest, of the same address if that has too
    many, else of the address with the most idle ones. If none is idle, the new connection becomes a
    spare one, which may only ask for health; the oldest spare one is closed for the next."""

    def __init__(self, most: int, of_address: int, spare: int, exempt: Sequence[str] = ()) -> None:
        """Set the limits; addresses in the networks ``exempt`` may hold all connections."""
        self._most, self._of_address, self._most_spare = most, of_address, spare
        self._is_any_exempt = "*" in exempt
        self._exempt = [ipaddress.ip_network(each) for each in exempt if each != "*"]
        self._open: defaultdict[str, set[Held]] = defaultdict(set)
        self._idle: defaultdict[str, dict[Held, None]] = defaultdict(dict)  # oldest first
        self._spare: dict[Held, None] = {}
        self.total = 0

    def add(self, connection: Held) -> Held | None:
        """Count a new connection, and return the one that must be closed for it, if any."""
        address, closed = connection.address, None
        is_over = len(self._open[address]) >= self._of_address and not self._is_exempt(address)
        if is_over or self.total - len(self._spare) >= self._most:
            idle = self._idle[address if is_over else self._most_idle()]
            closed = next(iter(idle), None)
            if closed is None:
                closed = next(iter(self._spare)) if len(self._spare) >= self._most_spare else None
                self._spare[connection] = None
        self.total += 1
        self._open[address].add(connection)
        self.rest(connection)
        if closed is not None:
            self.remove(closed)
        return closed

    def is_spare(self, connection: Held) -> bool:
        return connection in self._spare

    def begin(self, connection: Held) -> None:
        """Mark the connection as busy: a request has begun."""
        self._idle.get(connection.address, {}).pop(connection, None)

    def rest(self, connection: Held) -> None:
        """Mark the connection as idle."""
        is_open = connection in self._open.get(connection.address, ())
        if is_open and connection not in self._spare:
            self._idle[connection.address][connection] = None

    def remove(self, connection: Held) -> None:
        """Forget a connection that has been closed, or is about to be."""
        address = connection.address
        if connection in self._open[address]:
            self.total -= 1
            self._open[address].discard(connection)
            self._spare.pop(connection, None)
        self._idle[address].pop(connection, None)
        if not self._open[address]:
            del self._open[address], self._idle[address]

    def _most_idle(self) -> str:
        return max(self._idle, key=lambda address: len(self._idle[address]), default="")

    def _is_exempt(self, address: str) -> bool:
        if self._is_any_exempt or not self._exempt:
            return self._is_any_exempt
        try:
            host = ipaddress.ip_address(address.partition("/")[0])
        except ValueError:
            return False
        return any(host in network for network in self._exempt)
