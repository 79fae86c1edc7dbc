"""Answers a line at a time."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from reranker.service.http.streams import LINES
from tests.service.children.test_processes import count
from tests.service.servers import Gate, Server, dropped, sentence, serving
from tests.waiting import PATIENCE, until

EXAMPLE = (Path(__file__).parents[3] / "examples" / "parses.txt").read_bytes()
SIX_LISTS = b"\n\n".join(EXAMPLE.split(b"\n\n")[:6]) + b"\n"
ASK = {"Accept": LINES}


@pytest.fixture(scope="module")
def http(fragile: Server) -> Iterator[httpx.Client]:
    with fragile.client() as client:
        yield client


def lines_of(answer: httpx.Response) -> list[tuple[str, Any]]:
    assert (answer.status_code, answer.headers["content-type"]) == (200, LINES)
    assert answer.text.endswith("\n")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert all(len(line) == 1 for line in lines)
    return [item for line in lines for item in line.items()]


@pytest.mark.parametrize(
    "asked",
    [
        {"content": SIX_LISTS, "headers": {"Content-Type": "text/plain"}},
        {"json": {"sentences": [sentence("a"), {"candidates": ["("]}, {"candidates": []}]}},
    ],
)
def test_the_lines_are_the_answer_in_pieces(server: Server, asked: dict[str, Any]) -> None:
    named = {"X-Request-ID": "same", **asked.get("headers", {})}
    with server.client() as http:
        whole = http.post("/rerank", **{**asked, "headers": named}).json()
        lines = lines_of(http.post("/rerank", **{**asked, "headers": named | ASK}))
    first, *sentences, last = lines
    assert [kind for kind, _ in sentences] == ["sentence"] * len(whole["sentences"])
    assert [one for _, one in sentences] == whole.pop("sentences")
    assert last == ("end", {"warnings": whole.pop("warnings")})
    assert first == ("start", whole)


def test_a_sentence_comes_as_soon_as_it_is_ready(http: httpx.Client, gate: Gate) -> None:
    body = {"sentences": [sentence("a"), sentence(gate.word)]}
    with http.stream("POST", "/rerank", json=body, headers=ASK) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith('{"start":') and next(lines).startswith('{"sentence":')
        gate.open()
        assert [*map(len, map(json.loads, lines))] == [1, 1]


def test_what_fails_on_the_way_says_so_at_its_end(http: httpx.Client, gate: Gate) -> None:
    """The answer fails after its first sentence, or its first two."""
    body = {"sentences": [sentence("a"), sentence(gate.word), sentence("crash")]}
    with http.stream("POST", "/rerank", json=body, headers=ASK) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith('{"start":') and next(lines).startswith('{"sentence":')
        gate.open()
        *others, last = map(json.loads, lines)
    assert len(others) <= 1 and last["error"]["code"] == "worker-crashed"
    assert last["error"]["request_id"] == answer.headers["x-request-id"]


def test_a_deadline_on_the_way_is_the_last_line(http: httpx.Client, gate: Gate) -> None:
    """However long the first sentence takes on this machine."""
    body = {"sentences": [sentence("a"), sentence(gate.word)]}
    for seconds in ("1", "4", "16", "64"):
        headers = {**ASK, "X-Request-Timeout": seconds}
        answer = http.post("/rerank", json=body, headers=headers)
        if answer.status_code == 200:
            break
    kinds = [next(iter(json.loads(line))) for line in answer.text.splitlines()]
    assert kinds == ["start", "sentence", "error"]
    assert json.loads(answer.text.splitlines()[-1])["error"]["code"] == "deadline"


@pytest.mark.parametrize(
    "words, seconds, status", [([], "60", 422), (["stuck"], "0.2", 504), (["crash"], "600", 503)]
)
def test_what_fails_before_has_the_usual_answer(
    http: httpx.Client, gate: Gate, words: list[str], seconds: str, status: int
) -> None:
    body = {"sentences": [sentence(word.replace("stuck", gate.word)) for word in words]}
    headers = {**ASK, "X-Request-Timeout": seconds}
    answer = http.post("/rerank", json=body, headers=headers)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


def test_a_single_list_is_answered_as_ever(http: httpx.Client) -> None:
    body = {"documents": ["(S (NN a))"]}
    answer = http.post("/rerank", json=body, headers=ASK)
    assert answer.json()["results"][0]["index"] == 0


@pytest.mark.parametrize("accept", [LINES, "*/*"])
def test_hanging_up_stops_the_scoring(
    fragile: Server, http: httpx.Client, gate: Gate, accept: str
) -> None:
    names = ("queue_wait_seconds_count", "stopped_batches_total")
    begun, stopped = (count(http, name) for name in names)
    gone = dropped(http, "disconnect")
    body = json.dumps({"sentences": [sentence(gate.word)]}).encode()
    with connect(fragile, body, f"Accept: {accept}\r\nContent-Type: application/json\r\n"):
        until(lambda: count(http, names[0]) > begun)
    until(lambda: dropped(http, "disconnect") > gone)
    until(lambda: count(http, names[1]) > stopped)
    assert http.post("/rerank", json={"sentences": [sentence("a")]}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("accept", [LINES, "*/*"])
def test_who_does_not_read_is_cut_off(models: list[str], accept: str) -> None:
    """An answer of megabytes that nobody takes."""
    head = f"Accept: {accept}\r\nContent-Type: text/plain\r\n"
    path = "/rerank?return_token_scores=true"
    with (
        serving(models, "--body-seconds", "1") as impatient,
        impatient.client() as http,
        connect(impatient, EXAMPLE * 3, head, path) as client,
    ):
        until(lambda: dropped(http, "slow-reader") > 0)
        rest = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(10**6):
                rest = (rest + piece)[-100:]
        assert b'"warnings"' not in rest
        assert "rerank_requests_in_flight 0.0" in http.get("/metrics").text


def connect(server: Server, body: bytes, headers: str, path: str = "/rerank") -> socket.socket:
    """Return a client with little room for an answer."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", server.port))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    client.sendall(head.encode() + body)
    return client
