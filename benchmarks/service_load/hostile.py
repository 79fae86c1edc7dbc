"""Kind clients among hostile ones: starts all of them, and watches the service meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from itertools import cycle, islice
from typing import Any, NamedTuple

from benchmarks.latency import of_size
from benchmarks.scoring.measure import machine
from benchmarks.servers import Server, serving
from benchmarks.service_load.attacks import ATTACKS, GROUPS, Material, storm
from benchmarks.service_load.kind import Asked, KindClient, Question, ask, ranked, seconds_alone
from benchmarks.service_load.report import Measurements, targets, written
from benchmarks.service_load.watching import Tally, UsageSample, sleep_lightly, usage
from reranker.nbest import NBest, read_nbest
from reranker.nbest.writing import list_text
from reranker.process.machine import available_cores

LIVE = "GET /health/live"
HUGE_LISTS = 34
FIRST_QUESTIONS = 20  # one after the other, to see how fast the service is
IDLE_SHARE = 1 / 8  # of the time among hostile clients, before it
SAMPLE_SECONDS = 0.25
KIND_SHARE = 1 / 5  # of the service's capacity is asked for by kind clients
REST_SECONDS = 5.0  # after the last hostile client, before the end is looked at


class Questions(NamedTuple):
    """The questions to ask, with the command's answers."""

    tiny: list[Question]
    medium: list[Question]
    huge: list[Question]


def run(nbest: str, models: Sequence[str], seconds: float) -> int:
    """Print the report; return 1 if a target is missed."""
    print(f"{machine(available_cores())}; load average {os.getloadavg()[0]:.1f}", flush=True)
    questions = with_answers([each for each in read_nbest(nbest) if each.candidates], models)
    with serving(models, OMP_NUM_THREADS=str(os.cpu_count())) as server:
        figures = measured(server, questions, seconds)
    print(*written(figures), sep="\n")
    return 0 if all(target.is_met for target in targets(figures)) else 1


def with_answers(lists: Sequence[NBest], models: Sequence[str]) -> Questions:
    """Return real lists of the three sizes, with the command's answers."""
    tiny, medium = of_size(lists, 5, 10, 20), of_size(lists, 50, 20, 2 * HUGE_LISTS)
    texts = [list_text(each, place, "bllip").encode() for place, each in enumerate(tiny + medium)]
    rows = ranked(texts, models)
    alone = [Question("/rerank", text, [row]) for text, row in zip(texts, rows, strict=True)]
    small, large = alone[: len(tiny)], alone[len(tiny) :]
    huge = []
    for first in range(2):
        many = list(islice(cycle(large[first::2] or large), HUGE_LISTS))
        body = b"".join(each.body for each in many)
        huge.append(Question("/rerank", body, [row for each in many for row in each.rows]))
    return Questions(small, large[:10], huge)


def kind_clients(questions: Questions, port: int) -> dict[str, list[KindClient]]:
    """Return the clients by kind; no two kinds ask in step. The rate of their questions depends on
    the speed of the service here: half of the clients' share of it is for tiny questions, half for
    medium ones."""
    tiny = [f"127.0.0.{n}" for n in range(2, 6)]
    medium = [f"127.0.0.{n}" for n in range(6, 8)]
    return {
        "tiny: 5 x 10 words": _asking(tiny, questions.tiny, port),
        "medium: 50 x 20 words": _asking(medium, questions.medium, port),
        # Like a probe of Kubernetes': over a new connection each time.
        LIVE: [KindClient("127.0.0.8", 0.05, [Question("/health/live")], keeps_alive=False)],
    }


def _asking(addresses: Sequence[str], questions: Sequence[Question], port: int) -> list[KindClient]:
    """Return clients that each take an equal part of half of the share."""
    alone = seconds_alone(list(islice(cycle(questions), FIRST_QUESTIONS)), port)
    every = alone * len(addresses) / (KIND_SHARE / 2)
    return [KindClient(address, every, questions) for address in addresses]


def measured(server: Server, questions: Questions, seconds: float) -> Measurements:
    """Measure kind clients first alone, then among hostile ones; each kind in a process of its
    own."""
    port, tally = server.port, Tally()
    kind = kind_clients(questions, port)
    count = len(kind) + len(GROUPS) + 1
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as processes:

        def start_kind(since: float, seconds: float) -> dict[str, Future[Asked]]:
            until = since + seconds
            return {
                name: processes.submit(ask, clients, port, since, until)
                for name, clients in kind.items()
            }

        wait([processes.submit(time.sleep, 1) for _ in range(count)])  # all are started now
        asked = start_kind(time.monotonic() + 1, seconds * IDLE_SHARE)
        idle = {name: future.result() for name, future in asked.items()}
        since = time.monotonic() + 1
        attacks = [
            processes.submit(storm, names, material(questions, n), port, since, since + seconds)
            for n, names in enumerate(GROUPS)
        ]
        asked = start_kind(since, seconds)
        machine = processes.submit(sleep_lightly, since, since + seconds)
        samples = watch(server, [*attacks, *asked.values()], tally)
        among = {name: future.result() for name, future in asked.items()}
        outcomes = {name: each for future in attacks for name, each in future.result().items()}
    time.sleep(REST_SECONDS)
    tally.take(server)
    live = (idle.pop(LIVE), among.pop(LIVE))
    hostile = {name: outcomes[name] for name in ATTACKS}
    has_ended = server.process.poll() is not None
    end = usage(server.process.pid)
    rates = {name: clients[0].every for name, clients in kind.items()}
    return Measurements(
        seconds, rates, idle, among, live, hostile, samples, end, machine.result(), tally, has_ended
    )


def material(questions: Questions, seed: int) -> Material:
    return Material(questions.huge, questions.medium, random.Random(seed))


def watch(server: Server, until: Sequence[Future[Any]], tally: Tally) -> list[UsageSample]:
    """Take samples until all of these are done."""
    samples = []
    while not all(future.done() for future in until):
        samples.append(usage(server.process.pid))
        tally.take(server)
        time.sleep(SAMPLE_SECONDS)
    return samples
