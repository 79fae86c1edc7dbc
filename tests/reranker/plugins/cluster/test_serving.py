"""`rerank serve --ray` beside `rerank serve`."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.servers import Server, serving
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs '.[ray]'"),
]

MARK = str(time.time_ns())
SENTENCES = [{"candidates": [{"tree": tree} for tree in CANDIDATES]}]
JSON = {"Content-Type": "application/json"}
REQUESTS: dict[str, dict[str, Any]] = {
    "POST /rerank": {"json": {"sentences": SENTENCES, "return_token_scores": True}},
    "POST /rerank many": {"json": {"sentences": SENTENCES * 50}},
    "POST /rerank lines": {
        "json": {"sentences": SENTENCES * 3},
        "headers": {"Accept": "application/x-ndjson"},
    },
    "POST /rerank text": {
        "content": f"2\ta\n-1\n{CANDIDATES[0]}\n-2\n{CANDIDATES[1]}\n",
        "headers": {"Content-Type": "text/plain"},
    },
    "POST /rerank no tree": {"json": {"sentences": [{"candidates": ["(S1 (NN"]}]}},
    "POST /rerank cut off": {"content": b"{", "headers": JSON},
    "POST /rerank empty": {"content": b"", "headers": JSON},
    "POST /rerank no JSON": {"content": b"{}", "headers": {"Content-Type": "image/png"}},
    "POST /rerank unknown option": {"json": {"sentences": SENTENCES, "colour": 1}},
    "POST /rerank too large": {"content": b" " * (17 << 20), "headers": JSON},
    "POST /score": {"json": {"trees": list(CANDIDATES)}},
    "POST /validate": {"json": {"sentences": SENTENCES}},
    "GET /models": {},
    "GET /openapi.json": {},
    "GET /health/ready": {},
    "HEAD /health/live": {},
    "GET /": {},
    "GET /page/page.js": {},
    "GET /rerank": {},
    "GET /nothing": {},
}
THEIRS = {"date", "server", "connection"}
"""Headers of the web server, which is not the same."""


@contextlib.contextmanager
def _serving_on_ray(models: list[str]) -> Iterator[Server]:
    """Yield a server that is ready: on a busy machine Ray takes minutes for that."""
    with serving(models, "--ray", wait=False, RAY_worker_niceness="0", STARTED_BY=MARK) as server:
        server.logged("ready", seconds=600)
        yield server


@pytest.fixture(scope="module")
def on_ray(models: list[str]) -> Iterator[Server]:
    with _serving_on_ray(models) as server:
        yield server


@pytest.fixture(scope="module")
def plain(models: list[str]) -> Iterator[Server]:
    with serving(models) as server:
        yield server


def _answer(client: httpx.Client, name: str) -> tuple[int, dict[str, str], bytes]:
    method, path, *_ = name.split()
    headers = {"X-Request-ID": "one", **REQUESTS[name].get("headers", {})}
    answer = client.request(method, path, **{**REQUESTS[name], "headers": headers})
    known = {key: value for key, value in answer.headers.items() if key not in THEIRS}
    return answer.status_code, known, answer.content


@pytest.mark.parametrize("name", REQUESTS)
def test_it_answers_what_the_service_answers(on_ray: Server, plain: Server, name: str) -> None:
    with on_ray.client() as one, plain.client() as other:
        assert _answer(one, name) == _answer(other, name)


def _marked() -> list[int]:
    """Return the processes started with the environment of the server on Ray."""
    entry = f"STARTED_BY={MARK}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if entry in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_leaves_no_process_behind(models: list[str], number: signal.Signals) -> None:
    before = set(_marked())
    with _serving_on_ray(models) as server:
        assert len(_marked()) > len(before) + 5  # Ray's own, and a replica's
        server.process.send_signal(number)
        code = server.process.wait(60)
        assert code == (-number if number is signal.SIGKILL else 0), server.log
        until(lambda: not set(_marked()) - before)  # Ray's agents take a minute to notice


def test_requests_that_were_accepted_are_answered_before_it_ends(models: list[str]) -> None:
    body = json.dumps({"sentences": SENTENCES * 900}).encode()
    with _serving_on_ray(models) as server:
        with (
            server.client() as client,
            client.stream(
                "POST", "/rerank", content=body, headers={**JSON, "Accept": "application/x-ndjson"}
            ) as answer,
        ):
            server.process.terminate()
            rows = list(answer.iter_lines())
        assert len([row for row in rows if "ranking" in row]) == 900
        assert server.end() == 0


def test_what_cannot_be_served_is_said(models: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt"
    broken.write_bytes(Path(models[0]).read_bytes()[:-1000])
    with serving(
        [str(broken)], "--ray", wait=False, RAY_worker_niceness="0", STARTED_BY=MARK
    ) as server:
        assert server.process.wait(600) == 2
        server.end()
        last = server.log[-1]["event"]
        assert last.startswith("rerank: Ray Serve cannot start: "), server.log
        assert "broken.pt" in last
