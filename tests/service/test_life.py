"""Starting, reloading, crashing, ending."""

from __future__ import annotations

import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from reranker.errors import InputError
from reranker.service.server import listening, run
from reranker.service.settings import load_settings
from tests.service.conftest import BOSS, save_models
from tests.service.http.test_connections import refused
from tests.service.servers import (
    Gate,
    Server,
    is_closed_on,
    sentence,
    serving,
    slow_loading,
)
from tests.service.test_metrics import models_in, scraped
from tests.waiting import until

BODY = {"sentences": [sentence("We", "saw", "it")]}


def ask(client: httpx.Client, body: dict[str, Any]) -> httpx.Response:
    return client.post("/rerank", json=body)


def test_ready_only_between_the_first_score_and_sigterm(
    models: list[str], gate: Gate, tmp_path: Path
) -> None:
    """Until the first score: alive but not ready, and no request is taken. After SIGTERM what was
    accepted is answered, and nothing else is taken. Metrics say so, too."""
    (tmp_path / "scoring").mkdir()
    scoring = Gate(tmp_path / "scoring")
    flags, path = ("--drain-seconds", "600"), slow_loading(gate)
    with (
        serving(models, *flags, wait=False, PYTHONPATH=path) as server,
        server.client() as client,
        ThreadPoolExecutor(3) as threads,
    ):
        assert client.get("/health/live").status_code == 200
        early = client.get("/health/ready")
        assert (early.status_code, early.json()["error"]["code"]) == (503, "loading")
        assert ask(client, BODY).json()["error"]["code"] == "loading"
        assert metric(client, "ready") == 0
        assert "rerank_model_info{" not in client.get("/metrics").text
        gate.open()
        server.logged("ready")
        assert client.get("/health/ready").status_code == 200 and metric(client, "ready") == 1
        held = {"sentences": [sentence(scoring.word)]}
        accepted = [threads.submit(ask, client, held) for _ in range(3)]
        until(lambda: metric(client, "requests_in_flight") == 3)
        server.process.send_signal(signal.SIGTERM)
        server.logged("draining")
        late, ready = ask(client, BODY), client.get("/health/ready")
        assert (late.status_code, ready.status_code) == (503, 503)
        assert late.json()["error"]["code"] == "draining"
        assert "retry-after" in late.headers
        assert metric(client, "ready") == 0
        assert client.get("/health/live").status_code == 200
        scoring.open()
        assert [one.result().status_code for one in accepted] == [200] * 3
        assert server.end() == 0


def test_grace_time_is_bounded(models: list[str], gate: Gate) -> None:
    """A slow request does not hold up the end, and neither does a client that keeps sending after
    its answer."""
    flags = ("--drain-seconds", "0.3", "--body-seconds", "600")
    with (
        serving(models, *flags, fragile=True) as server,
        server.client() as client,
        refused(server) as connection,
        ThreadPoolExecutor(2) as threads,
    ):
        sending = threads.submit(is_closed_on, connection, b" ")
        asked = threads.submit(ask, client, {"sentences": [sentence(gate.word)]})
        until(lambda: metric(client, "requests_in_flight") == 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == 0
        unfinished = asked.result()
        assert unfinished.status_code == 503
        assert unfinished.json()["error"]["code"] == "draining"
        assert sending.result()


@pytest.mark.parametrize("word, error", [("crash", "RuntimeError"), ("die", "SystemExit")])
def test_crash_of_the_worker(fragile: Server, gate: Gate, word: str, error: str) -> None:
    with fragile.client() as client, ThreadPoolExecutor(3) as threads:
        before, begun = metric(client, RESTARTS), metric(client, BEGUN)
        held = threads.submit(ask, client, {"sentences": [sentence(gate.word)]})
        until(lambda: metric(client, BEGUN) == begun + 1)
        fatal = threads.submit(ask, client, {"sentences": [sentence(word)]})
        until(lambda: metric(client, "queue_requests") == 1)
        other = threads.submit(ask, client, BODY)
        until(lambda: metric(client, "queue_requests") == 2)
        gate.open()
        assert (held.result().status_code, other.result().status_code) == (200, 200)
        assert fatal.result().status_code == 503
        assert fatal.result().json()["error"]["code"] == "worker-crashed"
        assert "retry-after" in fatal.result().headers
        fragile.logged("scoring crashed and is restarted", error=error)
        assert metric(client, RESTARTS) == before + 1
        # Another slot may have answered before.
        until(lambda: client.get("/health/ready").status_code == 200)


RESTARTS = 'child_restarts_total{child="scoring"}'
BEGUN = "queue_wait_seconds_count"  # how many requests have left the queue


def metric(client: httpx.Client, name: str) -> float:
    (value,) = re.findall(rf"^rerank_{re.escape(name)} (\S+)$", client.get("/metrics").text, re.M)
    return float(value)


def until_reloaded(server: Server, event: str = "models reloaded") -> None:
    """Reload the models by a signal; wait until the log has the line once more."""

    def lines() -> int:
        return sum(line["event"] == event for line in server.log)

    before = lines()
    server.process.send_signal(signal.SIGHUP)
    until(lambda: lines() > before)


def test_a_reload_that_fails_changes_nothing(reloading: Server, served_folder: Path) -> None:
    broken = served_folder / "zzz.pt"
    with reloading.client() as client:
        before = ask(client, BODY).json()
        broken.write_bytes(b"no checkpoint")
        answer = client.post("/models/reload", headers=BOSS)
        broken.unlink()
        assert answer.status_code == 409
        error = answer.json()["error"]
        assert error["code"] == "reload-failed" and "zzz.pt" in error["message"]
        assert str(served_folder) not in answer.text
        after = ask(client, BODY).json()
        assert {**after, "id": ""} == {**before, "id": ""}


def test_a_glob_that_has_lost_a_file_is_refused_unless_told(
    reloading: Server, served_folder: Path
) -> None:
    with reloading.client(headers=BOSS) as client:
        save_models(served_folder, 2)
        client.post("/models/reload").raise_for_status()
        (served_folder / "model-2.pt").unlink()
        answer = client.post("/models/reload")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "reload-failed")
        assert "1 models now and 2 in use" in answer.json()["error"]["message"]
        assert len(client.get("/models").json()["models"]) == 2
        until_reloaded(reloading, "models not reloaded")
        assert len(client.get("/models").json()["models"]) == 2
        assert client.post("/models/reload?fewer=true").status_code == 200
        assert len(client.get("/models").json()["models"]) == 1


def test_metrics_follow_a_reload(reloading: Server, served_folder: Path) -> None:
    with reloading.client() as client:
        (before,) = models_in(scraped(client))
        (served_folder / "model-2.pt").write_bytes(b"no checkpoint")
        until_reloaded(reloading, "models not reloaded")
        assert models_in(scraped(client)) == [before]

        save_models(served_folder, 2)
        (served_folder / "model-1.pt").unlink()
        until_reloaded(reloading)
        (after,) = models_in(scraped(client))
        assert after["name"] == "model-2.pt" and after["sha256"] != before["sha256"]
        served = client.get("/models").json()["models"]
        assert [one["sha256"] for one in served] == [after["sha256"]]


def test_a_device_that_is_not_here_is_refused() -> None:
    with pytest.raises(InputError, match="device cuda:99"):
        run(load_settings({"models": [__file__], "port": 0, "device": "cuda:99"}))


def test_a_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1 port {port}"):
            listening(load_settings({"port": port}))
