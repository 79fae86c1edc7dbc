"""The middleware around every request, without a server: while models are not loaded, `/info`
answers 503 to clients that may ask at all."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import pytest
import structlog
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import LogCapture

from reranker.service.errors import RequestError
from reranker.service.http import middleware
from reranker.service.http.app import create_app
from reranker.service.http.envelope import content
from reranker.service.settings import load_settings
from tests.waiting import finished


def answers(
    *asked: tuple[str, dict[str, str]], is_hopeless: bool = False, **settings: Any
) -> list[httpx.Response]:
    """Return the answers to GETs of these paths with these headers, of a service that has not
    started; with ``is_hopeless``, of a service whose engines have failed too often."""
    app = create_app(load_settings({"models": ["none"], **settings}))
    if is_hopeless:
        for engine in app.state.service.engines._engines:
            engine.failed_starts = 3

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return list(
                await asyncio.gather(*(client.get(path, headers=head) for path, head in asked))
            )

    return finished(ask())


def test_only_the_page_s_own_origin_may_ask() -> None:
    allowed = [
        ("localhost", "http://localhost"),
        ("LOCALHOST:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("localhost", "https://rerank.example:8443"),  # --allow-host
        ("rerank.example", "https://ours.example"),  # --cors-origins
    ]
    refused = [
        ("localhost", "http://localhost.evil.com"),
        ("localhost:80", "http://localhost:8000"),
        ("localhost", "http://evil-localhost"),
        ("localhost", "http://evil.com/localhost"),
        ("localhost", "null"),
        ("localhost", ""),
        ("localhost", "https://rerank.example.evil.com"),
        ("localhost", "https://ours.example.evil.com"),
        ("localhost", "https://ours.example:444"),
        ("localhost", "http://ours.example"),
        ("127.0.0.1", "http://127.0.0.1.evil.com"),
    ]
    asked = [("/info", {"Host": host, "Origin": origin}) for host, origin in allowed + refused]
    got = answers(*asked, allow_host=["rerank.example"], cors_origins=["https://ours.example"])
    codes = [answer.json()["error"]["code"] for answer in got]
    assert codes == ["loading"] * len(allowed) + ["wrong-origin"] * len(refused)


def test_only_known_names_are_hosts() -> None:
    known = ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]:8000", "rerank.example:80"]
    unknown = ["localhost.evil.com", "evil.com", "evil-localhost", "rerank.example.evil.com", ""]
    asked = [("/info", {"Host": host}) for host in known + unknown]
    got = answers(*asked, allow_host=["Rerank.example"])
    codes = [answer.json()["error"]["code"] for answer in got]
    assert codes == ["loading"] * len(known) + ["wrong-host"] * len(unknown)


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_request_that_the_web_server_cancels_leaves_no_traceback(
    is_begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, sent, waits = LogCapture(), list[Message](), asyncio.Event()
    monkeypatch.setattr(middleware, "_LOGGER", structlog.wrap_logger(None, processors=[log]))
    scope = {"type": "http", "method": "POST", "path": "/rerank", "headers": []}

    async def never_done(scope: Scope, receive: Receive, send: Send) -> None:
        if is_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        waits.set()
        await asyncio.sleep(1e6)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    async def ended() -> None:
        service = create_app(load_settings({"models": ["none"]})).state.service
        request = middleware.RequestLog(never_done, service, ["/rerank"])(scope, receive, send)
        task = asyncio.create_task(request)
        await waits.wait()
        task.cancel()
        await task

    finished(ended())
    status = 200 if is_begun else 503
    assert [each["status"] for each in sent if "status" in each] == [status]
    assert sent[-1].get("body", b"").startswith(b'{"error":{"code":"draining"') != is_begun
    (line,) = log.entries
    assert (line["event"], line["status"], line["code"]) == ("request", status, "draining")


def test_health_is_logged_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogCapture()
    monkeypatch.setattr(middleware, "_LOGGER", structlog.wrap_logger(None, processors=[log]))
    none = dict[str, str]()
    asked = [(path, none) for path in ("/health/ready", "/health/live", "/metrics", "/nothing")]
    got = answers(*asked)
    assert [answer.status_code for answer in got] == [503, 200, 200, 404]
    logged = sorted((line["path"], line["status"]) for line in log.entries)
    assert logged == [("/health/ready", 503), ("other", 404)]


def test_a_service_that_can_never_score_again_is_not_alive() -> None:
    """So that it is restarted."""
    paths = [(f"/health/{name}", dict[str, str]()) for name in ("live", "ready")]
    assert [answer.status_code for answer in answers(*paths, is_hopeless=True)] == [503, 503]
    assert [answer.status_code for answer in answers(*paths)] == [200, 503]


def test_only_a_plain_request_id_is_kept() -> None:
    kept = ["a", "A-1_b.c", "x" * 64]
    replaced = ["", "x" * 65, "a b", "a<script>", "a;b"]
    got = answers(*[("/info", {"X-Request-ID": name}) for name in kept + replaced])
    names = [answer.headers["x-request-id"] for answer in got]
    assert names[: len(kept)] == kept
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names[len(kept) :])
    assert [answer.json()["error"]["request_id"] for answer in got] == names


def test_messages_are_shortened() -> None:
    """What a user sent may be quoted in an error, but not by the megabyte."""
    error = content(RequestError(422, "invalid", "m" * 2_000_000, "p" * 2_000_000), "id")["error"]
    assert error["message"] == "m" * 1000 + "..." and error["param"] == "p" * 200 + "..."
    error = content(RequestError(422, "invalid", "m" * 1000, "p" * 200), "id")["error"]
    assert (error["message"], error["param"]) == ("m" * 1000, "p" * 200)
