"""Whose turn it is.

Start-time fair queueing (Goyal, Vin and Cheng 1996): whoever has been given least is next, counted
from when they came, so that neither a huge request nor many requests of one client hold up others.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Generic, TypeVar

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """How much each has been given."""

    def __init__(self) -> None:
        self._given: dict[Who, float] = {}
        self._gone: dict[Who, float] = {}  # what they had, while it is more than others have
        self._now = 0.0  # what everybody here has been given

    def join(self, who: Who, ahead: float = 0.0) -> None:
        """Who comes has no claim to what others were given before, but for what is given ``ahead``
        to those who have not asked for a while."""
        if who not in self._given:
            self._given[who] = max(self._now - ahead, self._gone.pop(who, -math.inf))

    def leave(self, who: Who, ahead: float | None = None) -> None:
        """``ahead``: what they will be given when they come back; then, what they had is remembered
        until others have come as far."""
        given = self._given.pop(who)
        if ahead is not None:
            self._gone[who] = given
            past = self._now - ahead
            self._gone = {other: had for other, had in self._gone.items() if had > past}

    def give(self, who: Who, amount: float) -> None:
        self._given[who] += amount
        self._now = max(self._now, min(self._given.values()))

    def given(self, who: Who) -> float:
        """Whoever has the least is next."""
        return self._given[who]

    def is_ahead(self, who: Who) -> bool:
        """Whether there is something left of what they were given ahead."""
        return self._given[who] < self._now
