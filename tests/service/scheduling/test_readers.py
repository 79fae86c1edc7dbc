"""Reading takes turns between clients, charged by CPU time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from reranker.process.cancellation import Cancellation
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseQuery
from reranker.service.scheduling.readers import Readers
from reranker.service.settings import load_settings
from tests.waiting import PATIENCE, finished


class Child:
    """In place of a child: says that reading took as many seconds of CPU time as the body says."""

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
    """In which order one child reads bodies: of each a client, its CPU time, how many."""
    readers, child = Readers(load_settings({}), Metrics()), Child()
    pool = readers._short.pool
    pool._free.get()  # one of the two places
    readers._short.children[:] = [child, child]  # type: ignore[list-item]

    async def read() -> None:
        jobs = []
        for client, seconds, count in asked:
            for number in range(count):
                body = Body("/rerank", f"{client} {seconds}".encode(), "text/plain", None)
                jobs.append(asyncio.create_task(readers.read(body, client)))
                while len(pool._jobs) < len(jobs):
                    await asyncio.sleep(0.001)
                del number
        child.gate.set()
        await asyncio.gather(*jobs)

    finished(read())
    pool.close()
    return child.read


def test_a_flood_of_slow_bodies_does_not_hold_up_another_client() -> None:
    """Two were taken before it came; the kind client waited for all forty."""
    order = order_of(("hostile", "0.5", 40), ("kind", "0.01", 1))
    assert len(order) == 41 and order.index("kind") <= 2


def test_turns_are_counted_in_seconds() -> None:
    """One body of half a second, for five of a tenth."""
    order = order_of(("slow", "0.5", 8), ("quick", "0.1", 20))
    assert 8 <= order[2:14].count("quick") <= 11  # one or two were taken before others came
