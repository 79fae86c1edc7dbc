"""What the service answers when things go wrong, counted.

    python benchmarks/service_faults.py [--models ckpt/*.pt]

Each line: what was done, how often, how often the promised answer came. The worker is made to crash
by the words ``crash`` and ``die`` (tests/service/fragile_server.py). Exit status 1 if a promise was
not kept.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.service.servers import Server, sentence, serving

KEY = {"X-API-Key": "right"}
GOOD = {"sentences": [sentence("We", "saw", "it")]}
SLOW = {"sentences": [sentence("slow")]}
FLAGS = ["--queue-requests", "8", "--body-seconds", "2", "--batch-tokens", "100"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", nargs="+", default=sorted(glob("ckpt/*.pt")))
    models = parser.parse_args().models
    kept = True
    with (
        serving(models, *FLAGS, fragile=True, RERANK_API_KEYS="right,other") as server,
        server.client(headers=KEY) as client,
    ):
        for what, promised, answers in faults(server, client):
            statuses = list(answers)
            kept &= report(what, promised, statuses)
            if client.post("/rerank", json=GOOD).status_code != 200:
                kept = report(f"a good request after: {what}", "200", [0])
        kept &= end_under_load(server, client)
    return 0 if kept else 1


def report(what: str, promised: str, statuses: list[int]) -> bool:
    right = sum(str(status) in promised.split(" or ") for status in statuses)
    counts = [f"{statuses.count(status)} times {status}" for status in sorted(set(statuses))]
    print(
        f"{what}: {right} of {len(statuses)} answered {promised} ({', '.join(counts)})", flush=True
    )
    return right == len(statuses)


def faults(server: Server, client: httpx.Client) -> Iterator[tuple[str, str, Iterator[int]]]:
    def post(body: Any = None, **options: Any) -> int:
        return client.post("/rerank", json=body, **options).status_code

    def raw(content: bytes) -> int:
        headers = {"Content-Type": "application/json"}
        return client.post("/rerank", content=content, headers=headers).status_code

    def times(count: int, ask: Callable[[], int]) -> Iterator[int]:
        return (ask() for _ in range(count))

    def at_once(count: int, ask: Callable[[], int]) -> Iterator[int]:
        with ThreadPoolExecutor(count) as threads:
            yield from list(threads.map(lambda _: ask(), range(count)))

    for word in ("crash", "die"):
        body = {"sentences": [sentence(word)]}
        yield f"kill the worker ({word})", "503", times(20, partial(post, body))
    yield "fill the queue", "200 or 429", at_once(40, lambda: post(SLOW))
    yield "be too slow", "504", at_once(8, lambda: post(SLOW, headers={"X-Request-Timeout": "0.1"}))
    yield "slow head", "408", at_once(5, lambda: slow_head(server))
    yield "slow body", "408", at_once(5, lambda: slow_body(server))
    yield "cut connection before the body", "0", times(50, lambda: cut(server, b"{"))
    whole = json.dumps(SLOW).encode()
    yield "cut connection while scoring", "0", times(20, lambda: cut(server, whole))
    broken = [b"", b"{", b"[1", b"\xff", b'{"a":}', b"[" * 10_000]
    yield "malformed JSON", "400", (raw(content) for content in broken * 10)
    yield "100 MB", "413", times(5, lambda: raw(b"x" * 100_000_000))
    million = {"sentences": [{"candidates": ["(" * 10**6]}]}
    yield "10^6 brackets", "422", times(5, lambda: post(million))
    balanced = {"sentences": [{"candidates": ["(S " * 200_000 + "(N a)" + ")" * 200_000]}]}
    yield "4 * 10^5 balanced brackets", "422", times(5, lambda: post(balanced))
    for key in ("wrong", "", "righ", "rightt"):
        headers = {"X-API-Key": key}
        yield f"key {key!r}", "401", times(20, partial(post, GOOD, headers=headers))


def open_request(server: Server, body: bytes, length: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    head = f"POST /rerank HTTP/1.1\r\nHost: x\r\nX-API-Key: right\r\nContent-Length: {length}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return connection


def slow_head(server: Server) -> int:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        return dripping(connection, b"GET")


def slow_body(server: Server) -> int:
    with open_request(server, b"{", 1000) as connection:
        return dripping(connection, b"   ")


def dripping(connection: socket.socket, content: bytes) -> int:
    """The status that comes while bytes are sent slowly."""
    for byte in content:
        connection.sendall(bytes([byte]))
        time.sleep(0.5)
    return int(connection.recv(12)[9:])


def cut(server: Server, body: bytes) -> int:
    """Leave with a reset; there is no answer to get, only a service that must not mind."""
    with open_request(server, body, len(body) if len(body) > 1 else 1000) as connection:
        time.sleep(0.02)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return 0


def end_under_load(server: Server, client: httpx.Client) -> bool:
    """SIGTERM while 8 requests are inside and more keep coming."""

    def ask(body: Any) -> int:
        try:
            return client.post("/rerank", json=body).status_code
        except httpx.TransportError:
            return 0  # nobody listens any more

    with ThreadPoolExecutor(16) as threads:
        inside = [threads.submit(ask, SLOW) for _ in range(8)]
        while "rerank_requests_in_flight 8.0" not in client.get("/metrics").text:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        server.logged("draining")
        late = [threads.submit(ask, GOOD) for _ in range(40)]
        kept = report("SIGTERM: inside", "200", [answer.result() for answer in inside])
        kept &= report("SIGTERM: too late", "503 or 0", [answer.result() for answer in late])
    return kept & report("SIGTERM: exit status", "0", [server.end()])


if __name__ == "__main__":
    sys.exit(main())
