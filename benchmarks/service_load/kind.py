"""Clients that ask for little at a fixed rate, each over a connection of its own, and whether the
answers are the command's."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.servers import RERANK

Row = dict[str, Any]  # a line of ``rerank --output ranked``

LATEST = 70.0  # seconds that an answer may take: request_seconds and some
_MOST_IDLE_SECONDS = 30


class Question(NamedTuple):
    """A request; with a body, for a ranking that should be that of the command."""

    path: str
    body: bytes = b""
    rows: Sequence[Row] = ()


class KindClient(NamedTuple):
    """A client that asks one question after another, one every ``every`` seconds, from its own
    address."""

    address: str
    every: float
    questions: Sequence[Question]
    keeps_alive: bool = True


class Asked(NamedTuple):
    """The outcomes of the questions of some clients."""

    answers: Counter[str]  # by status; others are lost
    seconds: list[float]  # from when a question was due to its right answer
    due: list[float]  # when that was, by time.monotonic()

    @property
    def lost(self) -> int:
        return self.answers.total() - self.answers["200"]

    def percentile(self, percent: float) -> float:
        """Return a percentile of the answer times, in seconds (nearest rank); NaN if there are
        none."""
        ordered = sorted(self.seconds)
        return ordered[math.ceil(percent * len(ordered) / 100) - 1] if ordered else math.nan


def ask(clients: Sequence[KindClient], port: int, since: float, until: float) -> Asked:
    """Let them ask from ``since`` to ``until`` (by time.monotonic()), each in a thread."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)  # clients elsewhere would have processors, too
    with ThreadPoolExecutor(max(1, len(clients))) as threads:
        steps = [since + place / len(clients) * each.every for place, each in enumerate(clients)]
        asked = threads.map(_ask, clients, [port] * len(clients), steps, [until] * len(clients))
        both = Asked(Counter(), [], [])
        for each in asked:
            both.answers.update(each.answers)
            both.seconds.extend(each.seconds)
            both.due.extend(each.due)
    return both


def seconds_alone(questions: Sequence[Question], port: int) -> float:
    """Return the median answer time, asked one after the other while nobody else asks. Raises
    RuntimeError for a wrong answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=LATEST)
    seconds = []
    for question in questions:
        started = time.monotonic()
        if (outcome := _outcome(connection, question)) != "200":
            raise RuntimeError(f"the service answered {outcome}")
        seconds.append(time.monotonic() - started)
    connection.close()
    return median(seconds)


def _ask(client: KindClient, port: int, since: float, until: float) -> Asked:
    """Ask the client's questions; a late answer makes the next questions late, too, and that
    counts: they were due."""
    asked = Asked(Counter(), [], [])
    connection = HTTPConnection(
        "127.0.0.1", port, timeout=LATEST, source_address=(client.address, 0)
    )
    count = max(0, math.ceil((until - since) / client.every))
    for number in range(count):
        due = since + number * client.every
        time.sleep(max(0.0, due - time.monotonic()))
        if time.monotonic() > until + LATEST:
            asked.answers["never sent"] += count - number
            break
        outcome = _outcome(connection, client.questions[number % len(client.questions)])
        asked.answers[outcome] += 1
        if outcome == "200":
            asked.seconds.append(time.monotonic() - due)
            asked.due.append(due)
        # The service closes connections that are idle for 75 seconds.
        is_rare = client.every > _MOST_IDLE_SECONDS
        if not client.keeps_alive or is_rare or outcome.startswith("no answer"):
            connection.close()
    connection.close()
    return asked


def _outcome(connection: HTTPConnection, question: Question) -> str:
    try:
        method = "POST" if question.body else "GET"
        connection.request(method, question.path, question.body, {"Content-Type": "text/plain"})
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, HTTPException) as error:
        return f"no answer ({type(error).__name__})"
    if answer.status == 200 and question.rows and not is_right(content, question.rows):
        return "200 but wrong"
    return str(answer.status)


def ranked(lists: Sequence[bytes], models: Sequence[str]) -> list[Row]:
    """Return the rows that the command writes for these lists."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(b"".join(lists))
        command = [*RERANK, "--nbest", file.name, "--models", *models, "--output", "ranked"]
        done = subprocess.run(command, check=True, capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_right(answer: bytes, rows: Sequence[Row]) -> bool:
    """Return whether the service's figures for each list are those of the command, to the last
    digit."""
    sentences = json.loads(answer)["sentences"]
    return len(sentences) == len(rows) and all(map(_same, sentences, rows))


def _same(sentence: Row, row: Row) -> bool:
    for entry in sentence["ranking"]:
        entry["score"] = entry.pop("relevance_score")
    names = ("ranking", "best_index", "margin", "status")
    return all(sentence[name] == row[name] for name in names)
