"""benchmarks/stages.py: what belongs to which stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks import stages
from benchmarks.stages import REST, STAGES, Clock
from reranker.nbest.data import Sentence
from reranker.pipeline import Reranker
from tests.reranker.ensembles import untrained


def test_a_stage_within_another_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds pass only in ``spend``; a generator's steps count, and its consumer's time does
    not."""
    now = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    seconds = {"outer": 0.0, "inner": 0.0}
    clock = Clock(seconds)

    def spend(some: float) -> None:
        now[0] += some

    def steps() -> Iterator[float]:
        for some in (1.0, 2.0):
            spend(some)
            yield some

    inner: Any = clock.timed("inner", steps)

    def outer() -> None:
        spend(10)
        for _ in inner():
            spend(100)

    clock.timed("outer", outer)()
    spend(1000)
    assert seconds == {"outer": 210.0, "inner": 3.0}


def test_every_stage_is_used_and_they_add_up() -> None:
    """Of functions that exist; all but those of an encoder and of long jobs take time here."""
    reranker = Reranker([untrained(1)], threads=1)
    work = stages.parsed([Sentence.of(["We", "saw", "it", "."])] * 2, reranker, 20)
    found = stages.stages(work)
    assert list(found) == [*STAGES, REST]
    missing = {stage for stage, seconds in found.items() if not seconds}
    assert missing <= {"shortlist by span scores", "winner search: stand-ins"}
    assert len(work()) == 2
