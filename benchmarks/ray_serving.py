"""What Ray Serve adds to an answer of the service: `rerank serve --ray` against `rerank serve`.

    python -m benchmarks.ray_serving LISTS [--models ckpt/fast.toml] [--requests 60]

Both services run at once, with one replica and one process of as many threads, and are asked in
turns, one request at a time: how they are, a list of 1 candidate, a list of 50 and 10 such lists.
Prints the medians of the milliseconds until an answer, of their differences and of their ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence

import httpx

from benchmarks.blocks import bllip_blocks
from reranker.process.cores import available_cores
from tests.service.servers import serving


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("nbest", help="BLLIP lists of 50 candidates, plain or packed")
    parser.add_argument("--models", nargs="+", default=["ckpt/fast.toml"])
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--requests", type=int, default=60)
    arguments = parser.parse_args()
    lists = bllip_blocks(arguments.nbest)
    flags = ("--threads", str(arguments.threads))
    with (
        serving(arguments.models, *flags) as plain,
        serving(arguments.models, *flags, "--ray", RAY_worker_niceness="0") as on_ray,
        plain.client() as one,
        on_ray.client() as other,
    ):
        for name, bodies in {
            "/health/live": [""],
            "a list of 1 candidate": [first(block) for block in lists],
            "a list of 50 candidates": [f"{block}\n\n" for block in lists],
            "10 lists of 50 candidates": [
                "".join(f"{block}\n\n" for block in lists[place : place + 10])
                for place in range(0, len(lists), 10)
            ],
        }.items():
            print(compared(name, bodies, one, other, arguments.requests), flush=True)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"cores {available_cores()}, threads {arguments.threads}, load {load}")


def first(block: str) -> str:
    """The list with its first candidate only."""
    head, *lines = block.lstrip("\n").split("\n")
    return "\n".join([f"1\t{head.partition(chr(9))[2]}", *lines[:2]]) + "\n\n"


def compared(
    name: str, bodies: Sequence[str], one: httpx.Client, other: httpx.Client, requests: int
) -> str:
    pairs = []
    for number in range(-3, requests):  # the first few warm up
        body = bodies[number % len(bodies)].encode()
        clients = (one, other) if number % 2 else (other, one)
        found = {client: milliseconds(client, body) for client in clients}
        if number >= 0:
            pairs.append((found[one], found[other]))
    plain, ray = (statistics.median(column) for column in zip(*pairs, strict=True))
    more = statistics.median(b - a for a, b in pairs)
    ratio = statistics.median(b / a for a, b in pairs)
    return f"{name}: plain {plain:.1f} ms, Ray {ray:.1f} ms, {more:+.1f} ms, ratio {ratio:.2f}"


def milliseconds(client: httpx.Client, body: bytes) -> float:
    begin = time.perf_counter()
    if body:
        answer = client.post("/rerank", content=body, headers={"Content-Type": "text/plain"})
    else:
        answer = client.get("/health/live")
    answer.raise_for_status()
    return 1000 * (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
