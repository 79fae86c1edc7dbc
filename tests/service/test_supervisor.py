"""``--workers``: several processes that count, end, crash and reload as one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.conftest import save_models
from tests.service.requests.test_bounds import CHECKPOINTS, long_request, send, until_scoring
from tests.service.servers import RERANK, Server, sentence, serving
from tests.waiting import PATIENCE, until

BODY = {"sentences": [sentence("We", "saw", "it")]}
BOSS = {"X-API-Key": "boss"}


@pytest.fixture(scope="module")
def pair(models: list[str]) -> Iterator[Server]:
    with serving(models, "--workers", "2") as server:
        server.logged("all workers ready")
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_models(tmp_path, 1)
    return tmp_path


@pytest.fixture
def reloading(folder: Path) -> Iterator[Server]:
    pattern = str(folder / "*.pt")
    with serving([pattern], "--workers", "2", RERANK_ADMIN_KEYS="boss") as server:
        server.logged("all workers ready")
        yield server


def pids(server: Server) -> list[int]:
    """Of the workers that run."""
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [pid for pid in map(int, children) if "spawn_main" in command(pid)]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def ask(server: Server) -> httpx.Response:
    """On a connection of its own, so that any worker may answer."""
    return httpx.post(f"{server.url}/rerank", json=BODY, timeout=PATIENCE)


def ask_often(server: Server, times: int) -> list[httpx.Response]:
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda _: ask(server), range(times)))


def scrape(server: Server, name: str) -> set[float]:
    """The metric in ten scrapes, whoever answers."""
    found = set()
    for _ in range(10):
        text = httpx.get(f"{server.url}/metrics", timeout=PATIENCE).text
        (value,) = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M)
        found.add(float(value))
    return found


def workers_logged(server: Server, event: str) -> set[int]:
    return {line["worker"] for line in server.log if line["event"] == event and "worker" in line}


ANSWERED = 'rerank_requests_total{method="POST",path="/rerank",status="200"}'


@pytest.mark.slow
def test_counters_add_up_and_survive_a_crash(pair: Server) -> None:
    answers = ask_often(pair, 40)
    assert [answer.status_code for answer in answers] == [200] * 40
    assert workers_logged(pair, "request") == {1, 2}
    assert scrape(pair, ANSWERED) == {40}
    assert scrape(pair, "rerank_sentences_total") == {40}
    memory = scrape(pair, "rerank_device_memory_bytes")
    victim = pids(pair)[0]
    os.kill(victim, signal.SIGKILL)
    ended = pair.logged("a worker ended")
    assert ended["status"] == -signal.SIGKILL
    assert scrape(pair, ANSWERED) == {40}
    assert max(scrape(pair, "rerank_device_memory_bytes")) < 0.75 * max(memory)
    assert [answer.status_code for answer in ask_often(pair, 20)] == [200] * 20
    until_ready_again(pair, ended["worker"])
    assert victim not in pids(pair) and len(pids(pair)) == 2
    ask_often(pair, 20)
    assert scrape(pair, ANSWERED) == {80}
    assert len(scrape(pair, "rerank_queue_tokens")) == 1


def until_ready_again(server: Server, worker: int) -> None:
    ready = {"event": "ready", "worker": worker}
    until(lambda: sum(line.items() >= ready.items() for line in server.log) == 2)


def test_gauges_are_sums(pair: Server) -> None:
    """Requests that are being received, by whichever worker."""
    connections = [send(pair, b"{", length=100) for _ in range(6)]
    try:
        until(lambda: scrape(pair, "rerank_requests_in_flight") == {6})
    finally:
        for connection in connections:
            connection.close()


def test_info_and_health(pair: Server) -> None:
    with pair.client() as client:
        assert client.get("/info").json()["workers"] == 2
        assert client.get("/health/live").json() == {"status": "live"}
        assert client.get("/health/ready").json() == {"status": "ready"}


def models_of(answers: Sequence[httpx.Response]) -> list[set[str]]:
    assert {answer.status_code for answer in answers} == {200}
    return [{one["sha256"] for one in answer.json()["models"]} for answer in answers]


def test_a_reload_is_for_all_or_for_nobody(reloading: Server, folder: Path) -> None:
    before = models_of(ask_often(reloading, 10))
    broken = folder / "zzz.pt"
    broken.write_bytes(b"no checkpoint")
    answer = httpx.post(f"{reloading.url}/models/reload", headers=BOSS, timeout=PATIENCE)
    assert answer.status_code == 409
    assert "zzz.pt" in answer.json()["error"]["message"] and str(folder) not in answer.text
    assert models_of(ask_often(reloading, 10)) == before
    broken.unlink()
    save_models(folder, 2)
    answer = httpx.post(f"{reloading.url}/models/reload", headers=BOSS, timeout=PATIENCE)
    assert answer.status_code == 200
    now = {one["sha256"] for one in answer.json()["models"]}
    assert models_of(ask_often(reloading, 20)) == [now] * 20
    assert len(now) == 2 and before[0] < now
    assert workers_logged(reloading, "models reloaded") == {1, 2}
    assert scrape(reloading, 'rerank_model_reloads_total{result="failed"}') == {1}
    assert scrape(reloading, 'rerank_model_reloads_total{result="done"}') == {1}


@pytest.mark.slow
def test_a_replacement_serves_what_the_others_serve(reloading: Server, folder: Path) -> None:
    """The files have changed, and nobody has asked for a reload yet."""
    before = models_of([ask(reloading)])[0]
    save_models(folder, 2)
    os.kill(pids(reloading)[0], signal.SIGKILL)
    ended = reloading.logged("a worker ended")
    refused = reloading.logged("a worker cannot be restarted", worker=ended["worker"])
    assert "the files have changed" in refused["message"]
    assert models_of(ask_often(reloading, 10)) == [before] * 10
    reloading.process.send_signal(signal.SIGHUP)
    reloading.logged("all workers reloaded", workers=1)
    until_ready_again(reloading, ended["worker"])
    assert {len(models) for models in models_of(ask_often(reloading, 20))} == {2}


@pytest.mark.slow
@pytest.mark.parametrize("is_broken", [False, True])
def test_sigterm_while_scoring(is_broken: bool) -> None:
    """Each worker scores for seconds; one may not even hear the signal."""
    flags = ("--workers", "2", "--drain-seconds", "1")
    with serving([CHECKPOINTS], *flags) as server:
        server.logged("all workers ready")
        connections = [send(server, long_request()) for _ in range(4)]
        until_scoring(server)
        if is_broken:
            os.kill(pids(server)[0], signal.SIGSTOP)
        workers = pids(server)
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
        for connection in connections:
            connection.close()


@pytest.mark.slow
def test_a_second_signal_ends_at_once() -> None:
    with serving([CHECKPOINTS], "--workers", "2", "--drain-seconds", "600") as server:
        server.logged("all workers ready")
        with send(server, long_request()):
            until_scoring(server)
            server.process.send_signal(signal.SIGTERM)
            server.logged("draining")
            server.process.send_signal(signal.SIGTERM)
            assert server.end() == 0


def test_sigterm_finishes_what_was_accepted(models: list[str]) -> None:
    """Requests of which half has arrived are answered, in both workers."""
    body = b'{"texts": ["(S1 (NN a))"]}'
    with serving(models, "--workers", "2") as server:
        server.logged("all workers ready")
        connections = [send(server, body[:9], length=len(body)) for _ in range(6)]
        until(lambda: scrape(server, "rerank_requests_in_flight") == {6})
        server.process.send_signal(signal.SIGTERM)
        server.logged("draining", worker=1)
        server.logged("draining", worker=2)
        for connection in connections:
            with connection:
                connection.sendall(body[9:])
                assert connection.recv(12) == b"HTTP/1.1 200"
        assert server.end() == 0


@pytest.mark.slow
def test_workers_do_not_outlive_their_parent(models: list[str]) -> None:
    with serving(models, "--workers", "2") as server:
        server.logged("all workers ready")
        workers = pids(server)
        server.process.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"models": "nothing.pt"}, "nothing.pt: no such file"),
        ({"models": __file__}, "test_supervisor.py: not a checkpoint"),
        ({"api-keys-file": "nothing.txt"}, "nothing.txt: cannot be read"),
        ({"port": "taken"}, "cannot listen on 127.0.0.1 port"),
        ({"workers": "0"}, "setting workers: "),
    ],
)
def test_what_cannot_start_says_why(
    server: Server, models: list[str], changed: dict[str, Any], message: str
) -> None:
    flags = {"models": models[0], "port": "0", "workers": "2", **changed}
    if flags["port"] == "taken":
        flags["port"] = str(server.port)
    given = [text for name, value in flags.items() for text in (f"--{name}", value)]
    done = subprocess.run(
        [RERANK, "serve", *given], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
