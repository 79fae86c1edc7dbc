"""A tiny request beside four connections whose short bodies would become long lists.

    python -m benchmarks.service_load.products [--models ckpt/*.pt] [--seconds 20]
        [--rerank PROGRAM]

starts `rerank serve` and asks for a tiny list at a fixed rate: first alone, then beside four
connections that send such bodies without a pause, from addresses of their own and from that of the
tiny list's client. It prints each p99 and its ratio to the first, and exits with status 1 if one
is more than five times the first. PROGRAM is the `rerank` of another version, to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection, HTTPException

from benchmarks.scoring.measure import machine
from benchmarks.servers import RERANK, serving
from benchmarks.service_load.bombs import PRODUCTS, Bomb
from benchmarks.service_load.kind import LATEST, Asked, KindClient, Question, ask, seconds_alone
from reranker.process.machine import available_cores

CONNECTIONS = 4
MOST_TIMES = 5
SHARE = 1 / 5  # of the time is spent on tiny requests, alone
KIND = "127.0.0.2"
TINY = Question("/rerank", b"1\tx\n-1\n(S1 (NP (DT the) (NN man)))\n\n")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_load.products")
    parser.add_argument("--models", nargs="+", default=["ckpt/*.pt"])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement (20)")
    parser.add_argument("--rerank", metavar="PROGRAM", help="program to start")
    arguments = parser.parse_args(argv)
    print(f"{machine(available_cores())}; load average {os.getloadavg()[0]:.1f}", flush=True)
    threads = str(os.cpu_count())
    rerank = [arguments.rerank] if arguments.rerank else RERANK
    with serving(arguments.models, rerank=rerank, OMP_NUM_THREADS=threads) as server:
        return measure(server.port, arguments.seconds)


def measure(port: int, seconds: float) -> int:
    """Print the report; return 1 if the target is missed."""
    bombs = [each() for each in PRODUCTS.values()]
    attackers = {
        "B1, addresses of their own": (bombs[:1], 1),
        "B1, the same address": (bombs[:1], 0),
        "all kinds, addresses of their own": (bombs, 1),
        "all kinds, the same address": (bombs, 0),
    }
    with ProcessPoolExecutor(CONNECTIONS, multiprocessing.get_context("spawn")) as processes:
        list(processes.map(time.sleep, [1] * CONNECTIONS))  # all are started now
        every = seconds_alone([TINY] * 20, port) / SHARE
        alone = tiny(port, every, seconds)
        report("alone", alone, alone, Counter())
        worst = 0.0
        for name, (bodies, step) in attackers.items():
            until = time.monotonic() + seconds + 2
            storms = [
                processes.submit(storm, f"127.0.0.{2 + step * place}", port, bodies, until)
                for place in range(1, CONNECTIONS + 1)
            ]
            time.sleep(1)
            beside = tiny(port, every, seconds)
            answers = sum((each.result() for each in storms), Counter[str]())
            report(name, beside, alone, answers)
            worst = max(worst, beside.percentile(99) / alone.percentile(99))
    print(f"at most {worst:.1f} times alone; target: at most {MOST_TIMES}")
    return int(not worst <= MOST_TIMES)


def tiny(port: int, every: float, seconds: float) -> Asked:
    since = time.monotonic()
    return ask([KindClient(KIND, every, [TINY])], port, since, since + seconds)


def report(name: str, asked: Asked, alone: Asked, hostile: Counter[str]) -> None:
    p50, p99 = asked.percentile(50), asked.percentile(99)
    times = p99 / alone.percentile(99)
    answers = ", ".join(f"{count} x {what}" for what, count in hostile.most_common())
    print(
        f"{name:34} p50 {1000 * p50:6.0f} ms  p99 {1000 * p99:6.0f} ms  {times:6.1f} times alone; "
        f"{asked.lost} of {asked.answers.total()} lost" + (f"; hostile: {answers}" * bool(answers)),
        flush=True,
    )


def storm(address: str, port: int, bombs: Sequence[Bomb], until: float) -> Counter[str]:
    """Send bodies over one connection, one after another, until then; return the answers by
    status."""
    with contextlib.suppress(PermissionError):
        os.nice(19)  # elsewhere, they would not take the service's processors
    answers: Counter[str] = Counter()
    connection = HTTPConnection("127.0.0.1", port, LATEST, source_address=(address, 0))
    while time.monotonic() < until:
        bomb = bombs[answers.total() % len(bombs)]
        try:
            connection.request("POST", bomb.path, bomb.body, {"Content-Type": bomb.media})
            answer = connection.getresponse()
            answer.read()
            answers[str(answer.status)] += 1
        except (OSError, HTTPException) as error:
            answers[type(error).__name__] += 1
            connection.close()
    connection.close()
    return answers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
