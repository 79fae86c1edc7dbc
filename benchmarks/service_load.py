"""The service under load, on real lists: is it right, is it fast, does it say no when it must?

    python benchmarks/service_load.py LISTS [--models ckpt/*.pt] [--lists 200] [--minutes 15]

starts `rerank serve` on a free port and prints, in this order:

1. whether its figures for each list are those of `rerank --output ranked`, alone and coalesced;
2. candidates a second of the command and of the service at saturation;
3. latency at half that load, requests arriving at random;
4. answers to ten times that load, and the service's memory meanwhile.

The load comes from this process, on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reranker.files.text import open_text

RERANK = str(Path(sys.executable).with_name("rerank"))
CONNECTIONS = 96
TOGETHER = 8  # lists in a request of a pipeline that sends what it has parsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("nbest", help="BLLIP lists, plain or packed")
    parser.add_argument("--models", nargs="+", default=["ckpt/*.pt"])
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=15.0, help="of overload")
    arguments = parser.parse_args()
    lists = read_lists(arguments.nbest, arguments.lists)
    with tempfile.TemporaryDirectory() as folder:
        expected, rate = run_command(lists, arguments.models, Path(folder))
    with running_service(arguments.models) as (port, process):
        asyncio.run(measure(lists, expected, rate, port, process, arguments.minutes * 60))


def read_lists(path: str, count: int) -> list[bytes]:
    with open_text(path) as file:
        blocks = "".join(file).split("\n\n")
    return [f"{block}\n\n".encode() for block in blocks[:count] if block.strip()]


def run_command(
    lists: list[bytes], models: list[str], folder: Path
) -> tuple[list[dict[str, Any]], float]:
    """What the command writes, and its candidates a second without the time it takes to start."""
    seconds: list[float] = []
    rows: list[dict[str, Any]] = []
    for part in (lists[:1], lists):
        (folder / "lists").write_bytes(b"".join(part))
        command = [RERANK, "--nbest", str(folder / "lists"), "--models", *models]
        started = time.perf_counter()
        done = subprocess.run([*command, "--output", "ranked"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
    candidates = sum(len(row["ranking"]) for row in rows[1:])
    rate = candidates / (seconds[1] - seconds[0])
    print(f"lists {len(rows)}, candidates {sum(len(row['ranking']) for row in rows)}")
    print(f"command: {rate:.0f} candidates/s, {seconds[0]:.1f} s of start not counted")
    return rows, rate


@contextlib.contextmanager
def running_service(models: list[str]) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [RERANK, "serve", "--models", *models, "--port", "0", "--log-format", "json"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stderr=log, text=True)
        try:
            yield wait_for_port(log), process
        finally:
            process.terminate()
            print(f"service: exit status {process.wait()}")


def wait_for_port(log: Any) -> int:
    for _ in range(600):
        time.sleep(0.1)
        log.seek(0)
        events = [json.loads(line) for line in log if line.endswith("\n")]
        if any(each["event"] == "ready" for each in events):
            url = next(each["url"] for each in events if each["event"] == "listening")
            return int(url.rpartition(":")[2])
    raise SystemExit("the service does not become ready")


class Connection:
    """HTTP with as little work as can be: the load should not take the service's time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, body: bytes, path: str = "/rerank") -> tuple[int, bytes]:
        is_open = self._reader is not None and not self._reader.at_eof()
        if self._writer is None or self._writer.is_closing() or not is_open:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        assert self._reader is not None
        method = b"POST" if body else b"GET"
        head = (
            b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        )
        self._writer.write(head % (method, path.encode(), len(body)) + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        return int(answer[9:12]), await self._reader.readexactly(length)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class Pool:
    """Connections that are opened as needed and used again, ``limit`` requests at a time."""

    def __init__(self, port: int, limit: int) -> None:
        self._port, self._limit = port, asyncio.Semaphore(limit)
        self._free: list[Connection] = []

    async def ask(self, body: bytes, path: str = "/rerank") -> tuple[int, bytes]:
        async with self._limit:
            connection = self._free.pop() if self._free else Connection(self._port)
            answer = await connection.ask(body, path)
            self._free.append(connection)
            return answer

    def close(self) -> None:
        for connection in self._free:
            connection.close()


def is_right(answer: bytes, row: dict[str, Any]) -> bool:
    """Whether a service's answer has the figures that the command printed."""
    (sentence,) = json.loads(answer)["sentences"]
    ranking = sentence["ranking"]
    for entry in ranking:
        entry["score"] = entry.pop("relevance_score")
    names = ("best_index", "margin", "status")
    return ranking == row["ranking"] and all(sentence[name] == row[name] for name in names)


async def measure(
    lists: list[bytes],
    expected: list[dict[str, Any]],
    command_rate: float,
    port: int,
    process: subprocess.Popen[str],
    overload_seconds: float,
) -> None:
    pool = Pool(port, CONNECTIONS)
    report_right("one by one", [await pool.ask(body) for body in lists], expected)
    candidates = sum(len(row["ranking"]) for row in expected)
    for together in (TOGETHER, 1):
        starts = range(0, len(lists), together)
        bodies = [b"".join(lists[start : start + together]) for start in starts]
        started = time.perf_counter()
        answers = await asyncio.gather(*map(pool.ask, bodies))
        seconds = time.perf_counter() - started
        if together == 1:
            report_right("coalesced", answers, expected)
        assert all(status == 200 for status, _ in answers)
        rate = candidates / seconds
        print(
            f"service at saturation, {together} list(s) a request: {rate:.0f} candidates/s, "
            f"{100 * rate / command_rate:.0f} % of the command's"
        )
    per_second = len(lists) / seconds
    await half_load(lists, pool, per_second / 2)
    pool.close()
    await overload(lists, expected, port, process, 10 * per_second, overload_seconds)


def report_right(
    how: str, answers: list[tuple[int, bytes]], expected: list[dict[str, Any]]
) -> None:
    right = sum(
        status == 200 and is_right(body, row)
        for (status, body), row in zip(answers, expected, strict=True)
    )
    print(f"{how}: {right} of {len(expected)} lists as the command has them, to the last digit")


async def half_load(lists: list[bytes], pool: Pool, rate: float) -> None:
    latencies: list[float] = []

    async def ask(body: bytes) -> None:
        started = time.perf_counter()
        status, _ = await pool.ask(body)
        assert status == 200
        latencies.append(time.perf_counter() - started)

    generator = random.Random(1)
    tasks = []
    for body in lists:
        tasks.append(asyncio.create_task(ask(body)))
        await asyncio.sleep(generator.expovariate(rate))
    await asyncio.gather(*tasks)
    shares = statistics.quantiles(latencies, n=100)
    print(
        f"half load ({rate:.1f} lists/s at random): p50 {1000 * shares[49]:.0f} ms, "
        f"p99 {1000 * shares[98]:.0f} ms"
    )


async def overload(
    lists: list[bytes],
    expected: list[dict[str, Any]],
    port: int,
    process: subprocess.Popen[str],
    rate: float,
    seconds: float,
) -> None:
    """Requests at a fixed rate, whatever the answers, each on a connection of its own."""
    counted: Counter[str] = Counter()
    pool = Pool(port, limit=sys.maxsize)
    generator = random.Random(2)
    memory = [(0.0, resident_megabytes(process))]
    not_ready = 0

    async def ask(place: int) -> None:
        try:
            status, answer = await pool.ask(lists[place])
        except (OSError, EOFError) as error:
            counted[f"lost ({type(error).__name__})"] += 1
            return
        if status == 200 and not is_right(answer, expected[place]):
            counted["200 but wrong"] += 1
        else:
            counted[str(status)] += 1

    started = time.perf_counter()
    tasks: set[asyncio.Task[None]] = set()
    due, check = started, started
    while due < started + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(ask(generator.randrange(len(lists))))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        due += 1 / rate
        if due > check:
            check += max(5.0, seconds / 15)
            memory.append((due - started, resident_megabytes(process)))
            status, _ = await pool.ask(b"", "/health/ready")
            not_ready += status != 200
    await asyncio.gather(*tasks)
    pool.close()
    done = time.perf_counter() - started
    asked = ", ".join(f"{count} times {what}" for what, count in sorted(counted.items()))
    print(f"overload ({rate:.0f} lists/s for {done:.0f} s): {asked}; {not_ready} times not ready")
    answered = counted["200"] / done
    print(f"answered meanwhile: {answered:.1f} lists/s")
    print("memory, MB: " + ", ".join(f"{when:.0f} s {size:.0f}" for when, size in memory))


def resident_megabytes(process: subprocess.Popen[str]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
