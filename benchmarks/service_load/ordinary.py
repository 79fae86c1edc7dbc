"""Kind clients only: saturation, half of that, and ten times as much."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import httpx

from benchmarks.costs import timed
from benchmarks.servers import Server, serving
from benchmarks.service_load.kind import Row, is_right, ranked
from benchmarks.service_load.watching import usage
from reranker.files.text import read_lines

CONNECTIONS = 96
PATIENCE = "600"  # seconds, as many as the service allows
TOGETHER = 8  # lists in a request of a pipeline


class Load(NamedTuple):
    """BLLIP lists and, for each, the line that the command printed."""

    lists: list[bytes]
    rows: list[Row]

    def is_right(self, place: int, answer: httpx.Response) -> bool:
        rows = self.rows[place : place + 1]
        return answer.status_code == 200 and is_right(answer.content, rows)


def run(nbest: str, models: Sequence[str], count: int, overload_seconds: float) -> int:
    blocks = [block for block in "".join(read_lines(nbest)).split("\n\n") if block][:count]
    lists = [f"{block}\n\n".encode() for block in blocks if block.strip()]
    rows, rate = run_command(lists, models)
    with serving(models, OMP_NUM_THREADS=str(os.cpu_count())) as server:
        asyncio.run(measure(Load(lists, rows), rate, server, overload_seconds))
    return 0


def run_command(lists: Sequence[bytes], models: Sequence[str]) -> tuple[list[Row], float]:
    """Return the rows that the command writes, and its candidates a second without the time it
    takes to start."""
    seconds: list[float] = []
    rows: list[Row] = []
    for part in (lists[:1], lists):
        rows, cost = timed(partial(ranked, part, models))
        seconds.append(cost.wall)
    counts = [len(row["ranking"]) for row in rows]
    rate = sum(counts[1:]) / (seconds[1] - seconds[0])
    print(f"lists {len(rows)}, candidates {sum(counts)}")
    print(f"command: {rate:.0f} candidates/s, {seconds[0]:.1f} s of start not counted")
    return rows, rate


def connections(server: Server, limit: int | None) -> httpx.AsyncClient:
    """Open connections as needed and reuse them, at most ``limit`` at a time. If there is a limit,
    requests have time: on a slow machine some would be refused, since half a minute's work waits
    already."""
    limits = httpx.Limits(max_connections=limit, max_keepalive_connections=limit)
    headers = {"Content-Type": "text/plain"}
    if limit is not None:
        headers["X-Request-Timeout"] = PATIENCE
    return httpx.AsyncClient(base_url=server.url, headers=headers, limits=limits, timeout=None)


async def measure(load: Load, command_rate: float, server: Server, overload_seconds: float) -> None:
    async with connections(server, CONNECTIONS) as client:
        ask = partial(client.post, "/rerank")
        report_right("one by one", load, [await ask(content=body) for body in load.lists])
        candidates = sum(len(row["ranking"]) for row in load.rows)
        for together in (TOGETHER, 1):
            places = [*range(0, len(load.lists), together), len(load.lists)]
            bodies = [b"".join(load.lists[start:end]) for start, end in pairwise(places)]
            started = time.perf_counter()
            answers = await asyncio.gather(*(ask(content=body) for body in bodies))
            seconds = time.perf_counter() - started
            refused = {answer.status_code for answer in answers} - {200}
            assert not refused, refused
            rate = candidates / seconds
            print(
                f"service at saturation, {together} list(s) a request: {rate:.0f} candidates/s, "
                f"{100 * rate / command_rate:.0f}% of the command's"
            )
        report_right("coalesced", load, answers)
        per_second = len(load.lists) / seconds
        await half_load(load, client, per_second / 2)
    async with connections(server, None) as client:
        await overload(load, client, server.process.pid, 10 * per_second, overload_seconds)


def report_right(how: str, load: Load, answers: Sequence[httpx.Response]) -> None:
    right = sum(load.is_right(place, answer) for place, answer in enumerate(answers))
    print(f"{how}: {right} of {len(answers)} lists as the command has them, to the last digit")


async def half_load(load: Load, client: httpx.AsyncClient, rate: float) -> None:
    async def milliseconds(body: bytes) -> float:
        started = time.perf_counter()
        (await client.post("/rerank", content=body)).raise_for_status()
        return 1000 * (time.perf_counter() - started)

    generator = random.Random(1)
    tasks = []
    for body in load.lists:
        tasks.append(asyncio.create_task(milliseconds(body)))
        await asyncio.sleep(generator.expovariate(rate))
    shares = statistics.quantiles(await asyncio.gather(*tasks), n=100)
    print(
        f"half load ({rate:.1f} lists/s at random): p50 {shares[49]:.0f} ms, "
        f"p99 {shares[98]:.0f} ms"
    )


async def overload(
    load: Load, client: httpx.AsyncClient, pid: int, rate: float, seconds: float
) -> None:
    """Send requests at a fixed rate, whatever the answers."""
    counted: Counter[str] = Counter()
    generator = random.Random(2)
    memory = [(0.0, usage(pid).megabytes)]
    not_ready = 0

    async def ask(place: int) -> None:
        try:
            answer = await client.post("/rerank", content=load.lists[place])
        except httpx.TransportError as error:
            counted[f"lost ({type(error).__name__})"] += 1
            return
        is_wrong = answer.status_code == 200 and not load.is_right(place, answer)
        counted["200 but wrong" if is_wrong else str(answer.status_code)] += 1

    started = time.perf_counter()
    due, check = started, started
    async with asyncio.TaskGroup() as tasks:
        while due < started + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.create_task(ask(generator.randrange(len(load.lists))))
            due += 1 / rate
            if due > check:
                check += max(5.0, seconds / 15)
                memory.append((due - started, usage(pid).megabytes))
                not_ready += (await client.get("/health/ready")).status_code != 200
    done = time.perf_counter() - started
    asked = ", ".join(f"{count} times {what}" for what, count in sorted(counted.items()))
    print(f"overload ({rate:.0f} lists/s for {done:.0f} s): {asked}; {not_ready} times not ready")
    print(f"answered meanwhile: {counted['200'] / done:.1f} lists/s")
    print("memory, MB: " + ", ".join(f"{when:.0f} s {size:.0f}" for when, size in memory))
