"""Every limit has its answer, which names it."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.servers import (
    LIMITS,
    Gate,
    Server,
    begun,
    dropped,
    is_closed_on,
    sentence,
    serving,
)
from tests.waiting import PATIENCE, until

TREE = CANDIDATES[0]
CONSTANTS = {
    "max_values": 500_000,
    "max_tree_bytes": 200_000,
    "address_connections": 250,
}


@pytest.fixture(scope="module")
def hasty(models: list[str]) -> Iterator[Server]:
    with serving(models, "--body-seconds", "1") as server:
        yield server


@pytest.fixture(scope="module")
def tight(fragile: Server) -> Iterator[httpx.Client]:
    with fragile.client() as client:
        yield client


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """Return the error of an answer, whose envelope is whole."""
    assert set(answer.json()) == {"error"}
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"code", "message", "param", "request_id"}
    assert error["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text and "/work" not in answer.text
    return error


def test_info_shows_the_limits(tight: httpx.Client) -> None:
    assert tight.get("/info").json()["limits"] == {**LIMITS, **CONSTANTS}


@pytest.mark.parametrize(
    "sentences, limit",
    [
        ([sentence("a")] * 4, "max_sentences = 3"),
        ([{"candidates": [TREE] * 5}], "max_candidates = 4"),
        ([sentence("a"), {"candidates": [TREE] * 5}], "list 2 with 5 candidates"),
        ([sentence("a"), {"candidates": [TREE] * 5, "id": "0"}], "list 0 with 5 candidates"),
        ([sentence("a"), sentence(*["a"] * 29)], "tokens in list 2"),
        ([sentence(*["a"] * 29)], "max_tree_tokens = 30"),  # (S, 29 words, )S, <eos>
        ([{"candidates": ["(S1 " * 11 + "(NN a)" + ")" * 11]}], "max_depth = 10"),
        ([{"candidates": ["(" * 9_000]}], "max_depth = 10"),
    ],
)
def test_422_names_the_limit(
    tight: httpx.Client, sentences: list[dict[str, Any]], limit: str
) -> None:
    answer = tight.post("/rerank", json={"sentences": sentences})
    assert answer.status_code == 422
    error = error_of(answer)
    assert (error["code"], error["param"]) == ("over-limit", "sentences")
    assert limit in error["message"]


def test_what_just_fits_is_answered(tight: httpx.Client) -> None:
    deepest = "(S1 " * 9 + "(NN a)" + ")" * 9
    body = {"sentences": [sentence(*["a"] * 27), {"candidates": [deepest]}, {"candidates": []}]}
    assert tight.post("/rerank", json=body).status_code == 200


def test_a_whole_number_may_have_a_point(tight: httpx.Client) -> None:
    """JSON's schemas take 1.0 for an integer."""
    body = {"sentences": [sentence("a")], "top_n": 1.0}
    assert tight.post("/rerank", json=body).status_code == 200


def test_413_with_and_without_a_length(tight: httpx.Client) -> None:
    for content in (b"x" * 20_001, (b"x" * 1000 for _ in range(30))):
        answer = tight.post("/rerank", content=content, headers={"Content-Type": "text/plain"})
        assert answer.status_code == 413
        assert "max_body_bytes = 20000" in error_of(answer)["message"]


@pytest.mark.parametrize(
    "content, status, code, param",
    [
        (b"{", 400, "malformed-json", None),
        (b"\xff\xfe", 400, "malformed-json", None),
        (b'{"sentences":' * 1000, 400, "malformed-json", None),
        (b"[" * 15_000, 400, "malformed-json", None),
        (b"[]", 422, "invalid", None),
        (b"{}", 422, "invalid", "sentences"),
        (b'{"sentences": []}', 422, "invalid", "sentences"),
        (b'{"sentences": [{"candidates": "x"}]}', 422, "invalid", "sentences.0.candidates"),
        (
            b'{"sentences": [{"candidates": [{"tree": 1}]}]}',
            422,
            "invalid",
            "sentences.0.candidates.0.tree",
        ),
        (b'{"sentences": [{"candidates": []}], "lm_weight": 1.5}', 422, "invalid", "lm_weight"),
        (b'{"sentences": [{"candidates": []}], "lm_weight": NaN}', 422, "invalid", "lm_weight"),
        (b'{"sentences": [{"candidates": []}], "top_n": 0}', 422, "invalid", "top_n"),
        (b'{"sentences": [{"candidates": []}], "top_n": 1.5}', 422, "invalid", "top_n"),
        (b'{"sentences": [{"candidates": []}], "topn": 1}', 422, "invalid", "topn"),
        (b'{"documents": []}', 422, "invalid", "documents"),
        (b'{"nbest": "no list"}', 422, "unreadable", "nbest"),
        (b'{"nbest": "(S (NN a))", "format": "opennmt"}', 422, "unreadable", "nbest"),
    ],
)
def test_bodies_that_are_no_request(
    tight: httpx.Client, content: bytes, status: int, code: str, param: str | None
) -> None:
    answer = tight.post("/rerank", content=content, headers={"Content-Type": "application/json"})
    error = error_of(answer)
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)


def test_wrong_queries_headers_paths_and_media(tight: httpx.Client) -> None:
    body = {"sentences": [sentence("a")]}
    for request, status, param in (
        ({"url": "/rerank?top_n=x", "json": body}, 422, "top_n"),
        ({"url": "/rerank?nothing=1", "json": body}, 422, "nothing"),
        (
            {"url": "/rerank", "json": body, "headers": {"X-Request-Timeout": "-1"}},
            422,
            "X-Request-Timeout",
        ),
        (
            {"url": "/rerank", "json": body, "headers": {"X-Request-Timeout": "nan"}},
            422,
            "X-Request-Timeout",
        ),
        ({"url": "/rerank", "data": {"a": "b"}}, 415, "Content-Type"),
        ({"url": "/rerank"}, 415, "Content-Type"),
        ({"url": "/nothing"}, 404, None),
        ({"url": "/info"}, 405, None),
    ):
        answer = tight.post(**request)
        assert answer.status_code == status, request
        assert param in (None, error_of(answer)["param"])


def test_deadline(tight: httpx.Client, gate: Gate) -> None:
    body = {"sentences": [sentence(gate.word)]}
    answer = tight.post("/rerank", json=body, headers={"X-Request-Timeout": "0.2"})
    assert (answer.status_code, error_of(answer)["code"]) == (504, "deadline")


def test_full_queue(tight: httpx.Client, gate: Gate) -> None:
    """At most 50 tokens wait: while a request is scored, one of 28 waits, others are refused, and
    health stays good."""
    body = {"sentences": [sentence(gate.word, *["a"] * 10)] * 2}  # 2 * 14 tokens

    def ask(_: int) -> httpx.Response:
        return tight.post("/rerank", json=body)

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(ask, number) for number in range(8)]
        until(lambda: any(each.done() for each in asked))
        assert tight.get("/health/ready").status_code == 200
        gate.open()
        answers = [each.result() for each in asked]
    refusals = [one for one in answers if one.status_code == 429]
    assert 0 < len(refusals) < 8
    assert {one.status_code for one in answers} == {200, 429}
    for refused in refusals:
        assert error_of(refused)["code"] == "queue-full"
        assert int(refused.headers["retry-after"]) >= 1


def test_slow_head(hasty: Server) -> None:
    """A second in all, however steadily the bytes come; for later requests of a connection too."""
    head = b"GET /info HTTP/1.1\r\nHost: localhost\r\n"
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=PATIENCE) as connection:
        connection.sendall(head + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        time.sleep(1.2)  # an idle connection is kept
        started, rest = time.monotonic(), b""
        for byte in itertools.chain(head + b"X-Long: ", itertools.repeat(ord("x"))):
            connection.sendall(bytes([byte]))
            time.sleep(0.03)
            if (rest := rest + received(connection)).endswith(b"}}\n"):
                break
        assert time.monotonic() - started > 0.9
        assert b"HTTP/1.1 408 Request Timeout\r\n" in rest
    error = json.loads(rest[rest.rindex(b"\r\n") :])["error"]
    assert error["code"] == "slow-head" and "body_seconds = 1" in error["message"]
    with hasty.client() as client:
        assert 'rerank_dropped_total{reason="slow-head"} 1.0' in client.get("/metrics").text


def received(connection: socket.socket) -> bytes:
    """Return the bytes that are there without waiting."""
    try:
        return connection.recv(100_000, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""


def test_a_connection_that_says_nothing_is_closed(hasty: Server) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=PATIENCE) as connection:
        assert connection.recv(1) == b""


def test_a_body_that_goes_on_after_its_answer(hasty: Server) -> None:
    """The connection closes after ``body_seconds``, not before."""
    start = time.monotonic()
    with begun(hasty, b"{", 10**9) as connection:  # too long, and answered at once
        assert connection.recv(12) == b"HTTP/1.1 413"
        assert is_closed_on(connection, b" ")
    assert time.monotonic() - start > 0.9


def test_slow_body(hasty: Server) -> None:
    with begun(hasty, b"{", 1000) as connection:
        assert connection.recv(12) == b"HTTP/1.1 408"


def test_work_of_a_client_that_hangs_up_is_dropped(
    fragile: Server, tight: httpx.Client, gate: Gate
) -> None:
    before = dropped(tight, "disconnect")
    body = json.dumps({"sentences": [sentence(gate.word)] * 3}).encode()
    with begun(fragile, body, len(body)):
        until(lambda: "rerank_requests_in_flight 1.0" in tight.get("/metrics").text)
    until(lambda: dropped(tight, "disconnect") == before + 1)
    assert tight.post("/rerank", json={"sentences": [sentence("a")]}).status_code == 200
