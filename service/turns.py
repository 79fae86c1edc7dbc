"""Whose turn it is.

Start-time fair queueing (Goyal, Vin and Cheng 1996): whoever has been given least is next, counted
from when they came, so that neither a huge request nor many requests of one client hold up others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

_A_WHILE = 10.0  # seconds

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """How much each has been given."""

    def __init__(self) -> None:
        self._given: dict[Who, float] = {}
        self._gone: dict[Who, tuple[float, float]] = {}  # what they had, and when they left
        self._next_look = 0.0
        self._now = 0.0  # what everybody here has been given

    def join(self, who: Who, ahead: float = 0.0) -> None:
        """Who comes has no claim to what others were given before, but for what is given ``ahead``
        to those who have not asked for a while."""
        if who not in self._given:
            had, left = self._gone.pop(who, (0.0, -math.inf))
            start = self._now - ahead
            self._given[who] = max(start, had) if time.monotonic() - left < _A_WHILE else start

    def leave(self, who: Who, will_be_back: bool = False) -> None:
        """What those had who will be back is remembered for a while."""
        given, now = self._given.pop(who), time.monotonic()
        if will_be_back:
            self._gone[who] = given, now
        if now > self._next_look:
            self._next_look = now + _A_WHILE / 10
            self._gone = {one: had for one, had in self._gone.items() if now - had[1] < _A_WHILE}

    def give(self, who: Who, amount: float) -> None:
        self._given[who] += amount
        self._now = max(self._now, min(self._given.values()))

    def given(self, who: Who) -> float:
        """Whoever has the least is next."""
        return self._given[who]

    def is_ahead(self, who: Who) -> bool:
        """Whether there is something left of what they were given ahead; if they have left, of
        what they had."""
        had, _ = self._gone.get(who, (math.inf, 0.0))
        return self._given.get(who, had) < self._now
