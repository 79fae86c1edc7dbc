"""Who asks, and how much of what everyone needs may be theirs."""

from __future__ import annotations

import ipaddress
import time
from collections import defaultdict

from starlette.types import Scope

from reranker.service.keys import INVALID_KEY, NO_KEY

# How many times as much as is free one client may hold: three quarters of everything when alone,
# and so that there is always room for another. Choudhury and Hahne (1998), "Dynamic queue length
# thresholds for shared-memory packet switches", equation 1.
_TIMES_FREE = 3

# A client may send so many seconds' worth of requests at once.
_BURST_SECONDS = 10

# Clients remembered, until those that have been quiet for long are forgotten.
_MOST_REMEMBERED = 10_000


def address(scope: Scope) -> str:
    """Where a request comes from; a proxy that is trusted may still pass on what is not an
    address."""
    host, _, _ = (scope.get("client") or ("",))[0].partition("%")  # a zone can be any text
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return "unknown"


def client(scope: Scope) -> str:
    """Whom a request counts for: the label of its key, else its address; of IPv6 the network, since
    everyone has a whole one."""
    label: str = scope["state"]["key"]
    if label not in (NO_KEY, INVALID_KEY):
        return f"key {label}"
    host = address(scope)
    return str(ipaddress.ip_network((host, 64), strict=False)) if ":" in host else host


class Shares:
    """Something bounded, and how much of it each client holds."""

    def __init__(self, most: float) -> None:
        self.total = 0.0
        self._most = most
        self._held: defaultdict[str, float] = defaultdict(float)

    def has_room(self, client: str, amount: float) -> bool:
        """Whether the client may hold so much more. Something too large for any share is let in
        when nothing else is held."""
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
    """At most so many requests a second of each client, on average (the generic cell rate
    algorithm, ITU-T I.371)."""

    def __init__(self, per_second: float | None) -> None:
        """None: no limit."""
        self._interval = 0.0 if per_second is None else 1 / per_second
        self._burst = max(_BURST_SECONDS, self._interval)
        self._due: dict[str, float] = {}  # when a client that kept to the rate would come next

    def seconds_to_wait(self, client: str) -> float:
        """Until the client may ask again; 0: it may, and that counts."""
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
