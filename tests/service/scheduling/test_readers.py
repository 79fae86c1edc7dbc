"""Reading takes turns between clients, charged by CPU time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from reranker.process.cancellation import Cancellation
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseQuery
from reranker.service.scheduling.readers import Readers
from reranker.service.settings import load_settings
from tests.waiting import PATIENCE, finished


class Child:
    """A stand-in for a child that reports as many seconds of CPU time as the body says."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.read: list[str] = []
        self.memory = 0.0

    def started(self) -> Child:
        return self

    def replies(
        self, value: Any, cancellation: Cancellation, patience: float
    ) -> Iterator[tuple[bool, Any]]:
        assert self.gate.wait(PATIENCE)
        name, seconds = value[0].content.decode().split()
        self.read.append(name)
        yield False, float(seconds)
        query = ParseQuery.model_validate({})
        yield True, Contents(query, [], [], [], [])  # type: ignore[arg-type]

    def close(self) -> None:
        self.gate.set()


def order_of(*asked: tuple[str, str, int]) -> list[str]:
    """Return the order in which one child reads bodies, given as client, CPU time and number. The
    other child is busy."""
    readers, child, busy = Readers(load_settings({}), Metrics()), Child(), Child()
    pool = readers._short
    readers._short.children[:] = [busy, child]  # type: ignore[list-item]

    async def read() -> None:
        jobs: list[asyncio.Task[Contents]] = []
        for client, seconds, count in (("busy", "0", 1), *asked):
            for _ in range(count):
                body = Body("/rerank", f"{client} {seconds}".encode(), "text/plain", None)
                jobs.append(asyncio.create_task(readers.read(body, client)))
                while len(pool._readings) < len(jobs) or not pool.count(is_begun=True):
                    await asyncio.sleep(0.001)
        child.gate.set()
        await asyncio.gather(*jobs[1:])
        busy.gate.set()
        await jobs[0]

    finished(read())
    pool.close()
    return child.read


def test_a_flood_of_slow_bodies_does_not_hold_up_another_client() -> None:
    """One body was taken before the kind client came, which once waited for all forty."""
    order = order_of(("hostile", "0.5", 40), ("kind", "0.01", 1))
    assert len(order) == 41 and order.index("kind") == 1


def test_turns_are_counted_in_seconds() -> None:
    """One body of half a second, for five of a tenth."""
    order = order_of(("slow", "0.5", 8), ("quick", "0.1", 20))
    assert 8 <= order[2:14].count("quick") <= 11  # one was taken before others came


class Slow(Child):
    """A child that reads only bodies of others than the hostile client, until the gate is open."""

    def __init__(self, reading: list[str]) -> None:
        super().__init__()
        self._reading = reading

    def replies(
        self, value: Any, cancellation: Cancellation, patience: float
    ) -> Iterator[tuple[bool, Any]]:
        name = value[0].content.decode().split()[0]
        self._reading.append(name)
        if name == "hostile":
            assert self.gate.wait(PATIENCE)
        yield True, Contents(ParseQuery.model_validate({}), [], [], [], [])  # type: ignore[arg-type]


def test_a_client_never_holds_both_children() -> None:
    """Bodies of another are read meanwhile, and the rest once the first is done."""
    readers, reading = Readers(load_settings({}), Metrics()), list[str]()
    children = [Slow(reading), Slow(reading)]
    readers._short.children[:] = children  # type: ignore[assignment]

    async def read(client: str) -> None:
        await readers.read(Body("/rerank", client.encode(), "text/plain", None), client)

    async def all_of_them() -> None:
        hostile = [asyncio.create_task(read("hostile")) for _ in range(4)]
        while readers._short.count(is_begun=True) < 1:
            await asyncio.sleep(0.001)
        for _ in range(3):
            await read("kind")
        assert reading == ["hostile", *["kind"] * 3]
        for child in children:
            child.gate.set()
        await asyncio.gather(*hostile)

    finished(all_of_them())
    readers._short.close()
    assert reading.count("hostile") == 4


@pytest.mark.parametrize(
    "path, size, is_long",
    [
        ("/rerank", 99_999, False),
        ("/rerank", 100_000, True),
        ("/parse", 9_999, False),
        ("/parse", 10_000, True),
    ],
)
def test_what_takes_long_has_children_of_its_own(path: str, size: int, is_long: bool) -> None:
    """Texts, which take ten times as long to read as lists, have other children."""
    readers, child = Readers(load_settings({}), Metrics()), Child()
    child.gate.set()
    for each in (readers._short, readers._long):
        each.children[:] = [child, child]  # type: ignore[list-item]
    asked = readers._long if is_long else readers._short
    content = b"x 0" + b" " * (size - 3)
    finished(readers.read(Body(path, content, "text/plain", None), "x"))
    assert asked._readings._clients._gone.keys() == {"x"}
    for pool in readers.pools:
        pool.close()
