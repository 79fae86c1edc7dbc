"""The values in ``/metrics``, in every state of a server's life."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import torch

from tests.service.requests.test_bounds import KIND, TREE, send
from tests.service.servers import Gate, Server, sentence
from tests.waiting import until

DOCS = Path(__file__).parents[2] / "docs"
Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]

_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def scraped(client: httpx.Client) -> Series:
    """Return every value, by name and labels."""
    found = _LINE.findall(client.get("/metrics").text)
    return {
        (name, frozenset(_LABEL.findall(labels))): float(value) for name, labels, value in found
    }


def total(series: Series, name: str) -> float:
    """Return the sum over all labels."""
    values = [value for (found, _), value in series.items() if found == name]
    assert values, name
    return sum(values)


def models_in(series: Series) -> list[dict[str, str]]:
    """Return name and hash of each model, in the order of names."""
    found = [
        (dict(labels), value) for (name, labels), value in series.items() if "model_info" in name
    ]
    assert all(value == 1 for _, value in found)
    return sorted((labels for labels, _ in found), key=lambda labels: labels["name"])


def until_scraped(client: httpx.Client, condition: Callable[[Series], bool]) -> None:
    until(lambda: condition(scraped(client)))


def test_what_runs_here(http: httpx.Client) -> None:
    series = scraped(http)
    build = {
        "version": http.get("/info").json()["version"],
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    assert series["rerank_build_info", frozenset(build.items())] == 1
    served = http.get("/models").json()["models"]
    assert models_in(series) == [{"name": one["name"], "sha256": one["sha256"]} for one in served]
    assert total(series, "rerank_ready") == 1


def test_reading_threads_and_what_they_need_not_finish(server: Server, http: httpx.Client) -> None:
    """Four bodies that take long to read, of a client that holds one thread; then it hangs up."""
    body = json.dumps({"sentences": [{"candidates": [TREE] * 150}] * 1000}).encode()
    cancelled = "rerank_cancelled_readings_total"
    dropped = "rerank_dropped_total", frozenset({("reason", "disconnect")})
    for name in ("reading_busy", "reading_waiting"):
        until_scraped(http, lambda series: total(series, f"rerank_{name}") == 0)  # noqa: B023
    idle = scraped(http)
    connections = [send(server, body, "/validate") for _ in range(4)]
    until_scraped(
        http,
        lambda series: (
            total(series, "rerank_reading_busy") == 1
            and total(series, "rerank_reading_waiting") == 3
        ),
    )
    for connection in connections:
        connection.close()
    expected = total(idle, cancelled) + 4
    until_scraped(http, lambda series: total(series, cancelled) == expected)
    until_scraped(http, lambda series: total(series, "rerank_reading_busy") == 0)
    after = scraped(http)
    assert total(after, "rerank_reading_waiting") == 0
    assert after[dropped] == idle.get(dropped, 0) + 4
    assert http.post("/rerank", json=KIND).status_code == 200
    assert total(scraped(http), cancelled) == expected


def waiting_then_gone(server: Server, client: httpx.Client) -> float:
    """Return the tokens of a request that waited for the device and whose client hung up
    meanwhile."""
    with send(server, json.dumps({"sentences": [sentence(*"abcde")] * 3}).encode()):
        until_scraped(client, lambda series: total(series, "rerank_queue_tokens") > 0)
        return total(scraped(client), "rerank_queue_tokens")


def test_tokens_that_nobody_waits_for_any_more(fragile: Server, gate: Gate) -> None:
    cancelled, begun = "rerank_cancelled_tokens_total", "rerank_queue_wait_seconds_count"
    with fragile.client() as client, ThreadPoolExecutor(1) as threads:
        before = scraped(client)
        held = threads.submit(client.post, "/rerank", json={"sentences": [sentence(gate.word)]})
        until_scraped(client, lambda series: total(series, begun) == total(before, begun) + 1)
        expected = total(before, cancelled) + waiting_then_gone(fragile, client)
        until_scraped(client, lambda series: total(series, cancelled) == expected)
        assert total(scraped(client), "rerank_queue_tokens") == 0
        gate.open()
        assert held.result().status_code == 200


def test_no_client_makes_up_a_label(server: Server) -> None:
    """Paths, methods and keys of a client's invention add no series beyond a first of each kind."""
    with server.client() as client:
        counts = []
        for number in range(3):
            for _ in range(2):
                client.request(f"ODD{number}", f"/{number}", headers={"X-API-Key": f"key{number}"})
            counts.append(len(scraped(client)))
        assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize("page", ["deploying.md", "operating.md"])
def test_metrics_that_pages_name_are_exported(http: httpx.Client, page: str) -> None:
    http.post("/rerank", content=b"{")  # a first request gives its metrics their labels
    exported = http.get("/metrics").text
    named = re.findall(r"`(rerank_\w+(?:\{[^}]*\})?)`", (DOCS / page).read_text(encoding="utf-8"))
    assert len(named) >= 5
    assert [name for name in named if not re.search(rf"\b{re.escape(name)}(?!\w)", exported)] == []
