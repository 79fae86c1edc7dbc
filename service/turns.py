"""Whose turn it is.

Start-time fair queueing (Goyal, Vin and Cheng 1996): whoever has been given least is next, counted
from when they came, so that neither a huge request nor many requests of one client hold up others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Who = TypeVar("Who", bound=Hashable)


class Turns(Generic[Who]):
    """How much each has been given."""

    def __init__(self) -> None:
        self._given: dict[Who, float] = {}
        self._now = 0.0  # what whoever was last given something had before

    def join(self, who: Who) -> None:
        """Who comes later has no claim to what others were given before."""
        self._given.setdefault(who, self._now)

    def leave(self, who: Who) -> None:
        self._given.pop(who, None)

    def give(self, who: Who, amount: float) -> None:
        self._now = max(self._now, self._given[who])
        self._given[who] += amount

    def given(self, who: Who) -> float:
        """Whoever has the least is next."""
        return self._given[who]
