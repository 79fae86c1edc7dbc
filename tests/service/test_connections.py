"""Answers that come before the whole request has, where the connection closes after them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from reranker import Reranker
from reranker.service.app import create_app
from reranker.service.server import listening, web_server
from reranker.service.settings import Settings
from tests.reranker.ensembles import untrained
from tests.service.servers import SOON, Server, is_closed_on, serving
from tests.service.test_bounds import BOMBS

LARGEST = 1_000_000


@pytest.fixture(scope="module")
def small(models: list[str]) -> Iterator[Server]:
    with serving(models, "--max-body-bytes", str(LARGEST), "--body-seconds", "2") as server:
        yield server


def head(length: int, version: str = "1.1") -> bytes:
    """Of a request after which the connection closes."""
    text = f"POST /rerank HTTP/{version}\r\nHost: x\r\nContent-Length: {length}\r\n"
    text += "Content-Type: application/json\r\n" + "Connection: close\r\n" * (version == "1.1")
    return f"{text}\r\n".encode()


def answer_to(server: Server, request: bytes) -> bytes:
    """All of the answer, for a client that reads nothing before it has sent everything."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(100_000), b""))


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("status, body", [(422, BOMBS["max_candidates"]), (413, b" " * 17_000_000)])
def test_who_is_refused_early_gets_the_answer(
    server: Server, version: str, status: int, body: bytes
) -> None:
    for _ in range(3):
        answer = answer_to(server, head(len(body), version) + body)
        assert answer.startswith(b"HTTP/1.1 %d " % status) and answer.endswith(b"}\n")


def refused(server: Server) -> socket.socket:
    """A connection that has its answer, before a body of which nothing has been sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(head(1_000_000_000))
    answer = b"".join(iter(lambda: connection.recv(100_000), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    return connection


def test_who_sends_for_ever_after_the_answer_is_closed(small: Server) -> None:
    """After ``body_seconds``, not before."""
    with refused(small) as connection:
        start = time.monotonic()
        assert is_closed_on(connection, b" ", 10)
        assert time.monotonic() - start > 1.5


def test_who_sends_too_much_after_the_answer_is_closed(server: Server) -> None:
    """``body_seconds`` is 20 there; what may still come is four bodies of 16 MB."""
    sent, piece = 0, b" " * 2**20
    with refused(server) as connection:
        start = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - start < 15:
                sent += connection.send(piece)
        assert time.monotonic() - start < 15 and 4 * 16 <= sent / 2**20 < 100


def test_who_waits_after_the_answer_does_not_hold_up_the_end(models: list[str]) -> None:
    with serving(models, "--drain-seconds", "0.1") as server, refused(server) as connection:
        thread = threading.Thread(target=is_closed_on, args=(connection, b" ", 10), daemon=True)
        thread.start()
        start = time.monotonic()
        server.process.terminate()
        assert server.end() == 0
        assert time.monotonic() - start < SOON
        thread.join()


@pytest.fixture
def _same_garbage_collection() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("_same_garbage_collection")
def test_what_a_connection_held_is_freed_when_it_closes() -> None:
    """Not by the garbage collection, while which nothing is answered."""
    settings = Settings.model_validate({"models": ["none"], "port": 0})
    app = create_app(Reranker([untrained(1)]), settings)

    async def left() -> int:
        server = web_server(app, settings)
        with listening(settings) as listener:
            serving = asyncio.ensure_future(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            gc.disable()
            for request in (b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", head(10**9)) * 5:
                reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
                writer.write(request)
                assert await reader.readuntil(b"\r\n\r\n")
                writer.close()
            await asyncio.sleep(0.3)
            found = sum(isinstance(each, H11Protocol) for each in gc.get_objects())
            server.should_exit = True
            await serving
        return found

    assert asyncio.run(left()) == 0
