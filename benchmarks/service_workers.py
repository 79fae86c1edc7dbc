"""What `--workers` does to throughput and latency: one process with all cores against several that
share them.

    python -m benchmarks.service_workers LISTS [--workers 2] [--lists 60] [--rounds 5]

Both services run at once and take turns: in every round each is first asked everything at once
(lists a second), then at random at half the rate of the slower (p50, p99), and who begins
changes. Prints medians and the medians of the rounds' ratios. The load comes from this process, on
the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import socket
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from benchmarks.blocks import bllip_blocks
from benchmarks.service_load.ordinary import CONNECTIONS, connections
from tests.service.servers import Server, serving

FIGURES = ("lists/s, saturated", "p50, ms, half load", "p99, ms, half load")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("nbest", help="BLLIP lists, plain or packed")
    parser.add_argument("--models", nargs="+", default=["ckpt/*.pt"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    blocks = bllip_blocks(arguments.nbest, arguments.lists)
    lists = [f"{block}\n\n".encode() for block in blocks if block.strip()]
    several = ("--workers", str(arguments.workers))
    with serving(arguments.models) as one, serving(arguments.models, *several) as other:
        other.logged("all workers ready")
        print(
            f"connections of each worker, {CONNECTIONS} opened at once: {shares(other)}", flush=True
        )
        asyncio.run(measure((one, other), lists, arguments.rounds))
    print(f"cores {os.cpu_count()}, lists {len(lists)}, rounds {arguments.rounds}")


async def measure(servers: Sequence[Server], lists: Sequence[bytes], rounds: int) -> None:
    found: list[list[tuple[float, ...]]] = []  # of each round, of each server
    for server in servers:
        await saturated(server, lists)  # warms up
    for round_number in range(rounds):
        rates, waits = [0.0, 0.0], [(0.0, 0.0), (0.0, 0.0)]
        order = (0, 1) if round_number % 2 else (1, 0)
        for which in order:
            rates[which] = await saturated(servers[which], lists)
        for which in order:
            waits[which] = await at_random(servers[which], lists, min(rates) / 2)
        found.append([(rates[i], *waits[i]) for i in (0, 1)])
        print(f"round {round_number + 1}: {found[-1]}", flush=True)
    for place, name in enumerate(FIGURES):
        one = [of_round[0][place] for of_round in found]
        other = [of_round[1][place] for of_round in found]
        ratios = sorted(b / a for a, b in zip(one, other, strict=True))
        print(
            f"{name}: one process {statistics.median(one):.4g}, several "
            f"{statistics.median(other):.4g}, ratio {statistics.median(ratios):.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


async def saturated(server: Server, lists: Sequence[bytes]) -> float:
    """Lists a second, when all are asked for at once."""
    async with connections(server, CONNECTIONS) as client:
        started = time.perf_counter()
        await asyncio.gather(*(milliseconds(client, body) for body in lists))
        return len(lists) / (time.perf_counter() - started)


async def at_random(server: Server, lists: Sequence[bytes], rate: float) -> tuple[float, float]:
    """Median and 99th percentile of the milliseconds until an answer."""
    generator = random.Random(1)
    tasks = []
    async with connections(server, CONNECTIONS) as client:
        for body in lists:
            tasks.append(asyncio.create_task(milliseconds(client, body)))
            await asyncio.sleep(generator.expovariate(rate))
        found = statistics.quantiles(await asyncio.gather(*tasks), n=100, method="inclusive")
    return found[49], found[98]


async def milliseconds(client: httpx.AsyncClient, body: bytes) -> float:
    started = time.perf_counter()
    answer = await client.post("/rerank", content=body, headers={"X-Request-Timeout": "600"})
    answer.raise_for_status()
    return 1000 * (time.perf_counter() - started)


def shares(server: Server) -> str:
    """How many connections each worker took of a burst."""
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
    before = {child: sockets(child) for child in children}
    with contextlib.ExitStack() as opened:
        for _ in range(CONNECTIONS):
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        time.sleep(1)
        counts = [sockets(child) - before[child] for child in children]
    return ", ".join(str(count) for count in counts if count)


def sockets(pid: str) -> int:
    links = Path(f"/proc/{pid}/fd").iterdir()
    return sum(os.readlink(link).startswith("socket:") for link in links)


if __name__ == "__main__":
    main()
