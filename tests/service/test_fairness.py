"""Fairness: no client can take everything from the others."""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from reranker.service.children.scoring import Models
from reranker.service.errors import RequestError
from reranker.service.fairness import Rate, Shares, client, overloaded, too_often
from reranker.service.lifecycle import Service
from reranker.service.settings import load_settings
from tests.service.servers import Server, begun, sentence, serving
from tests.waiting import until

ROOT = Path(__file__).parents[2]
KIND = {"sentences": [sentence("it", "runs")]}
STRANGER = "127.0.0.66"


@pytest.mark.parametrize(
    "host, key, name",
    [
        ("10.0.0.1", "none", "10.0.0.1"),
        ("10.0.0.1", "invalid", "10.0.0.1"),
        ("10.0.0.1", "team-a", "key team-a"),
        ("2001:db8::1:2:3:4", "none", "2001:db8::/64"),
        ("anything", "none", "unknown"),
    ],
)
def test_whom_a_request_counts_for(host: str, key: str, name: str) -> None:
    assert client({"client": (host, 1)}, key) == name


def test_a_client_may_hold_three_times_what_is_free() -> None:
    shares = Shares(128)
    counts = {name: 0 for name in "abc"}
    for name in counts:
        while shares.has_room(name, 1):
            shares.take(name, 1)
            counts[name] += 1
    assert counts == {"a": 96, "b": 24, "c": 6}
    for _ in range(60):
        shares.give_back("a", 1)
    assert shares.has_room("b", 1) and shares.has_room("d", 30) and not shares.has_room("a", 50)


def test_what_is_too_large_for_a_share_is_let_in_alone() -> None:
    shares = Shares(10)
    assert shares.has_room("a", 11)
    shares.take("a", 11)
    assert not shares.has_room("b", 1)
    shares.give_back("a", 11)
    assert shares.total == 0 and shares.has_room("b", 7)


def test_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two a second; after 20 at once, one every half second."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = Rate(2)
    assert [rate.seconds_to_wait("a") for _ in range(20)] == [0.0] * 20
    assert rate.seconds_to_wait("a") == pytest.approx(0.5)
    assert rate.seconds_to_wait("b") == 0.0
    now += 0.5
    assert rate.seconds_to_wait("a") == 0.0 < rate.seconds_to_wait("a")
    assert Rate(None).seconds_to_wait("a") == 0.0


def test_a_slow_rate_admits_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate is below one in ten seconds, and below the allowed burst."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = Rate(0.05)
    assert rate.seconds_to_wait("a") == 0.0
    assert rate.seconds_to_wait("a") == pytest.approx(20)
    now += 20.5
    assert rate.seconds_to_wait("a") == 0.0


def test_nobody_is_told_to_wait_for_longer_than_ten_minutes() -> None:
    for seconds, told in ((0.0, 1), (1.5, 2), (600.0, 600), (1e6, 600)):
        assert [each(seconds).retry_after for each in (too_often, overloaded)] == [told, told]


def test_clients_that_have_been_quiet_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr("reranker.service.fairness._MOST_REMEMBERED", 3)
    rate = Rate(2)
    for name in "abc":
        assert rate.seconds_to_wait(name) == 0.0
    now += 0.25  # all three are still within their half second
    assert rate.seconds_to_wait("d") == 0.0 and set(rate._due) == set("abcd")
    now += 0.4  # only the last one is
    assert rate.seconds_to_wait("e") == 0.0 and set(rate._due) == set("de")


def test_bodies_that_never_end_are_a_matter_of_their_client(server: Server) -> None:
    """While 128 connections send one byte of a body, others are answered."""

    def until_in_flight(number: int) -> None:
        until(lambda: f"rerank_requests_in_flight {number}.0\n" in http.get("/metrics").text)

    with server.client() as http:
        with contextlib.ExitStack() as held:
            for _ in range(128):
                held.enter_context(begun(server, b"{", 100, address=STRANGER))
            until_in_flight(96)
            assert http.post("/rerank", json=KIND).status_code == 200
            with begun(server, b"{", 100, address=STRANGER) as another:
                assert another.recv(12) == b"HTTP/1.1 429"
        until_in_flight(0)  # the next test has the server for itself


def test_who_asks_too_often_is_told_when_to_come_back() -> None:
    """The limit is one request in 1,000 seconds."""
    service = Service(load_settings({"models": ["none"], "client_rate": 0.001}))
    service.models = cast(Models, object())  # loaded, as far as counting goes
    with service.visit("a"):
        pass
    with pytest.raises(RequestError) as caught, service.visit("a"):
        pass
    refused = caught.value
    assert (refused.status, refused.code, refused.retry_after) == (429, "too-often", 600)
    with service.visit("b"):
        pass


@pytest.mark.slow
def test_tiny_requests_beside_a_huge_one() -> None:
    """52 lists of 50 trees, and lists of 5 trees of few words: half of these are answered within
    three times as long as without the other."""
    blocks = (ROOT / "examples" / "parses.txt").read_text(encoding="utf-8").split("\n\n")
    trees = [block.splitlines()[2::2] for block in blocks if block]
    huge = [{"candidates": some} for some in trees] * 2
    tiny = [{"candidates": some[:5]} for some in sorted(trees, key=lambda some: len(some[0]))[:5]]
    stranger = httpx.HTTPTransport(local_address=STRANGER)
    with (
        serving([str(ROOT / "ckpt")]) as server,
        server.client() as http,
        server.client(transport=stranger) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        milliseconds(http, tiny)
        idle = milliseconds(http, tiny)
        thread.submit(ask_for_long, other, huge)
        until(lambda: "rerank_queue_tokens 0.0" not in http.get("/metrics").text)
        beside = milliseconds(http, tiny)
        print(f"tiny requests, p50: idle {idle:.0f} ms, beside a huge one {beside:.0f} ms")
        assert "rerank_queue_tokens 0.0" not in http.get("/metrics").text
        server.process.kill()
    assert beside < 3 * idle


def ask_for_long(http: httpx.Client, sentences: list[Any]) -> None:
    with contextlib.suppress(httpx.TransportError):
        http.post("/rerank", json={"sentences": sentences})


def milliseconds(http: httpx.Client, lists: list[Any]) -> float:
    """Return the median time of 20 requests, each with one of the lists."""
    times = []
    for nbest in itertools.islice(itertools.cycle(lists), 20):
        started = time.perf_counter()
        body = json.dumps({"sentences": [nbest]})
        answer = http.post("/rerank", content=body, headers={"Content-Type": "application/json"})
        times.append(1000 * (time.perf_counter() - started))
        assert answer.status_code == 200, answer.text
    return statistics.median(times)
