"""How long the stages of a computation take, on a GPU without stopping it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


class Stages:
    """Seconds between beginning and end of wrapped functions.

    On a GPU that is the time between two events of its own, waiting for the next launch included,
    so a stage that the processor cannot feed fast enough shows its waiting too.
    """

    def __init__(self, device: str) -> None:
        self._is_cuda = device.startswith("cuda")
        self._seconds: dict[str, float] = {}
        self._events: list[tuple[str, Any, Any]] = []

    @contextmanager
    def wrapping(self, *places: tuple[Any, str, str]) -> Iterator[None]:
        """Measures, for each (owner, attribute, stage), the calls of that function."""
        before = [(owner, attribute, vars(owner).get(attribute)) for owner, attribute, _ in places]
        for owner, attribute, stage in places:
            setattr(owner, attribute, self._measured(stage, getattr(owner, attribute)))
        try:
            yield
        finally:
            for owner, attribute, original in before:
                if original is None:  # it was the class's
                    delattr(owner, attribute)
                else:
                    setattr(owner, attribute, original)

    def _measured(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._is_cuda:
                begin, end = self._event(), self._event()
                begin.record()
                result = function(*arguments, **named)
                end.record()
                self._events.append((stage, begin, end))
                return result
            started = time.perf_counter()
            result = function(*arguments, **named)
            self._add(stage, time.perf_counter() - started)
            return result

        return call

    def _event(self) -> Any:
        event: Any = torch.cuda.Event  # untyped in torch
        return event(enable_timing=True)

    def _add(self, stage: str, seconds: float) -> None:
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def seconds(self) -> dict[str, float]:
        """By stage, in the order of their first calls; waits for the GPU."""
        if self._is_cuda:
            torch.cuda.synchronize()
        for stage, begin, end in self._events:
            self._add(stage, begin.elapsed_time(end) / 1000)
        self._events.clear()
        return dict(self._seconds)
