"""The children of the service: those that score, and those that read bodies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.service.servers import Server, sentence
from tests.waiting import until

BODY = {"sentences": [sentence("We", "saw", "it")]}


def children_of(server: Server, module: str) -> list[int]:
    """Return the service's processes that run a module."""
    found = []
    for file in Path(f"/proc/{server.process.pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            if f".{module}\0" in Path(f"/proc/{child}/cmdline").read_text():
                found.append(child)
    return found


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    until_ended(process)


def until_ended(process: int) -> None:
    folder = Path(f"/proc/{process}")
    with contextlib.suppress(OSError):
        # Its last thread is a zombie until the service looks for it.
        until(lambda: len(list((folder / "task").iterdir())) == 1 and state(folder) == "Z")


def state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def count(client: httpx.Client, metric: str) -> float:
    (value,) = re.findall(
        rf"^rerank_{re.escape(metric)} (\S+)$", client.get("/metrics").text, re.MULTILINE
    )
    return float(value)


def ranked(answer: httpx.Response) -> object:
    assert answer.status_code == 200, answer.text
    return answer.json()["sentences"]


def test_a_killed_scoring_process_costs_one_batch(crowded: Server) -> None:
    with crowded.client() as client, ThreadPoolExecutor(1) as threads:
        before = ranked(client.post("/rerank", json=BODY))
        (process,) = children_of(crowded, "scoring_main")
        os.kill(process, signal.SIGSTOP)  # so that it is killed while it scores
        begun = count(client, "queue_wait_seconds_count")
        asked = threads.submit(client.post, "/rerank", json=BODY)
        until(lambda: count(client, "queue_wait_seconds_count") == begun + 1)
        os.kill(process, signal.SIGKILL)
        answer = asked.result()
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "worker-crashed")
        line = crowded.logged("scoring crashed and is restarted")
        assert line["error"] == "a child process was ended by SIGKILL (perhaps for lack of memory)"
        assert ranked(client.post("/rerank", json=BODY)) == before
        (other,) = children_of(crowded, "scoring_main")
        assert other != process


def test_an_idle_scoring_child_is_replaced_at_once(crowded: Server) -> None:
    """The replacement does not wait for a request; no answer is lost."""
    with crowded.client() as client:
        before = ranked(client.post("/rerank", json=BODY))
        restarts = count(client, 'child_restarts_total{child="scoring"}')
        (process,) = children_of(crowded, "scoring_main")
        kill(process)
        assert ranked(client.post("/rerank", json=BODY)) == before
        # The request may have started the child before the service saw that the other one is gone.
        until(lambda: count(client, 'child_restarts_total{child="scoring"}') > restarts)
        until(lambda: client.get("/health/ready").status_code == 200)
        assert count(client, 'child_restarts_total{child="scoring"}') == restarts + 1


def test_a_long_body_is_read_elsewhere(crowded: Server) -> None:
    """With the figures of a short one."""
    one_sentence = sentence("We", "saw", "it", *["again"] * 20)
    body = json.dumps({"sentences": [one_sentence] * 400})
    assert len(body) > 100_000
    with crowded.client() as client:
        for process in children_of(crowded, "reading_main"):
            kill(process)
        one = client.post("/rerank", json={"sentences": [one_sentence]})
        (short,) = children_of(crowded, "reading_main")
        many = client.post("/rerank", content=body, headers={"Content-Type": "application/json"})
        rows = many.json()["sentences"]
        assert len(rows) == 400 and len(set(children_of(crowded, "reading_main")) - {short}) == 1
        (expected,) = one.json()["sentences"]
        assert all({**row, "id": "0"} == expected for row in rows)


def test_killed_reading_processes_are_replaced(crowded: Server) -> None:
    body = {"sentences": [sentence("a", "b") for _ in range(1000)], "x": "y" * 100_000}
    with crowded.client() as client:
        before = ranked(client.post("/rerank", json=BODY))
        assert client.post("/rerank", json=body).status_code == 422
        for process in children_of(crowded, "reading_main"):
            kill(process)
        assert ranked(client.post("/rerank", json=BODY)) == before
        answer = client.post("/rerank", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, "x")


def test_what_answers_does_not_need_torch() -> None:
    program = "import sys, reranker.service.http.app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
