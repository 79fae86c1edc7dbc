"""HTTP itself: methods, paths, headers, and requests that are not valid HTTP."""

from __future__ import annotations

import gzip
import json
import socket

import httpx
import pytest

from tests.service.http.test_connections import answer_to
from tests.service.requests.test_limits import error_of
from tests.service.servers import Server, is_closed_on, sentence
from tests.waiting import PATIENCE

BODY = {"sentences": [sentence("We", "saw", "it")]}


def test_no_redirects(http: httpx.Client) -> None:
    """A redirect would go to the Host that the client named."""
    for method, path in (
        ("POST", "/rerank/"),
        ("GET", "/info/"),
        ("GET", "/page"),
        ("GET", "/docs/"),
    ):
        answer = http.request(method, path, headers={"Host": "192.0.2.1"})
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not-found"), path
        assert "location" not in answer.headers


@pytest.mark.parametrize(
    "request_bytes, status",
    [
        (b"NO HTTP\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # TLS
        (b"GET /info HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /info HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", 431),
        (b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (
            b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nno length\r\n",
            400,
        ),
    ],
)
def test_malformed_http_has_the_usual_error(
    server: Server, request_bytes: bytes, status: int
) -> None:
    head, _, body = answer_to(server, request_bytes).partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0].startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/json" in lines and b"connection: close" in lines
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "param", "request_id"}
    assert error["code"] == "malformed-http"
    assert b"x-request-id: " + error["request_id"].encode() in lines
    logged = server.logged("malformed-http", request_id=error["request_id"])
    assert (logged["client"], logged["status"]) == ("127.0.0.1", status)


def test_who_never_hangs_up_after_malformed_http_is_closed(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"NO HTTP\r\n\r\n")
        assert is_closed_on(connection, b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")


def test_two_lengths_close_the_connection(server: Server) -> None:
    """A proxy that went by the other would see a second request where we see a body."""
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = json.dumps(BODY).encode()
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    head += b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(chunked)
    answers = answer_to(server, head + chunked + b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answers.startswith(b"HTTP/1.1 200") and answers.count(b"HTTP/1.1 ") == 1


def test_a_websocket_handshake_is_an_ordinary_request(server: Server) -> None:
    """The web server would log two lines of advice for each."""
    for path, status in (("/info", b"200"), ("/nothing", b"404")):
        name = f"upgrade-{path[1:]}"
        handshake = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Request-ID: {name}\r\n\r\n"
        )
        before = len(server.log)
        assert answer_to(server, handshake.encode()).startswith(b"HTTP/1.1 " + status)
        server.logged("request", request_id=name)
        assert [line["event"] for line in server.log[before:]] == ["request"]


def test_head_answers_like_get(http: httpx.Client) -> None:
    for path in ("/", "/info", "/models", "/docs", "/health/live", "/page/page.css"):
        got, head = http.get(path), http.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        same = ("content-type", "content-length")
        assert [head.headers[name] for name in same] == [got.headers[name] for name in same]
    assert http.head("/rerank").status_code == 405
    assert http.post("/info").headers["allow"] == "GET, HEAD"


def test_compressed_bodies_are_415(http: httpx.Client) -> None:
    content = gzip.compress(json.dumps(BODY).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = http.post("/rerank", content=content, headers=headers)
    assert answer.status_code == 415
    assert error_of(answer)["param"] == "Content-Encoding"
    assert answer.headers["accept-encoding"] == "identity"
    plain = http.post("/rerank", json=BODY, headers={"Content-Encoding": "identity"})
    assert plain.status_code == 200


def test_long_names_are_not_sent_back(http: httpx.Client) -> None:
    name = "x" * 100_000
    for body in ({**BODY, name: 1}, {"sentences": [{"candidates": [], name: 1}]}):
        answer = http.post("/rerank", json=body)
        assert answer.status_code == 422 and len(answer.content) < 2000
        assert "xxx" in error_of(answer)["param"]


@pytest.mark.parametrize("value", ["-1", "nan", "soon"])
def test_the_header_at_fault_is_named(http: httpx.Client, value: str) -> None:
    answer = http.post("/rerank", json=BODY, headers={"X-Request-Timeout": value})
    assert (answer.status_code, error_of(answer)["param"]) == (422, "X-Request-Timeout")


def test_json_ends_with_a_newline(http: httpx.Client) -> None:
    answers = [http.get(path) for path in ("/info", "/models", "/health/live", "/nothing")]
    answers += [http.post(path, json=BODY) for path in ("/rerank", "/validate", "/score")]
    for answer in answers:
        assert answer.content.endswith(b"}\n") and answer.content.count(b"\n") == 1, answer.url


def test_scores_whose_margin_is_no_number(http: httpx.Client) -> None:
    trees = ["(S1 (S (NN a)))", "(S1 (NP (NN a)))"]
    candidates = [
        {"tree": tree, "score": score}
        for tree, score in zip(trees, (-1.7e308, 1.7e308), strict=True)
    ]
    answer = http.post("/rerank", json={"sentences": [{"candidates": candidates}], "lm_weight": 0})
    assert answer.status_code == 200
    (ranked,) = answer.json()["sentences"]
    assert (ranked["best_index"], ranked["margin"]) == (1, None)


def test_who_asked_is_logged_whatever_the_client_claims(server: Server, http: httpx.Client) -> None:
    """No proxy is trusted unless the settings say so."""
    http.get("/info", headers={"X-Request-ID": "claims", "X-Forwarded-For": "203.0.113.9"})
    line = server.logged("request", request_id="claims")
    assert (line["client"], line["key"]) == ("127.0.0.1", "none")
