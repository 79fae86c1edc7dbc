"""Answers that come before the whole request has, where the connection closes after them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import Iterator

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from reranker.service.http.app import create_app
from reranker.service.server import listening, web_server
from reranker.service.settings import Settings
from tests.service.requests.test_bounds import BOMBS
from tests.service.servers import Server
from tests.waiting import PATIENCE, finished


def head(length: int, version: str = "1.1") -> bytes:
    """Return the head of a request after which the connection closes."""
    text = f"POST /rerank HTTP/{version}\r\nHost: localhost\r\nContent-Length: {length}\r\n"
    text += "Content-Type: application/json\r\n" + "Connection: close\r\n" * (version == "1.1")
    return f"{text}\r\n".encode()


def answer_to(server: Server, request: bytes) -> bytes:
    """Return the whole answer, for a client that reads nothing before it has sent everything."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
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
    """Return a connection that has its answer, with nothing of its body sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    connection.sendall(head(1_000_000_000))
    answer = b"".join(iter(lambda: connection.recv(100_000), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    return connection


def test_who_sends_too_much_after_the_answer_is_closed(server: Server) -> None:
    """What may still come is four bodies of 16 MB."""
    sent, piece = 0, b" " * 2**20
    with refused(server) as connection:
        with contextlib.suppress(ConnectionError):
            while sent / 2**20 < 100:
                sent += connection.send(piece)
        assert 4 * 16 <= sent / 2**20 < 100


def test_answers_wait_for_no_acknowledgement() -> None:
    """Without TCP_NODELAY one on an open connection takes 40 ms more: the client's delayed
    acknowledgement."""
    settings = Settings.model_validate({"models": ["none"], "port": 0})
    with listening(settings) as listener:
        listener.settimeout(PATIENCE)
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


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
    app = create_app(settings)

    async def closed() -> None:
        server = web_server(app, settings)
        with listening(settings) as listener:
            serving = asyncio.ensure_future(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            gc.disable()
            for request in (
                b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
                head(10**9),
            ) * 5:
                reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
                writer.write(request)
                assert await reader.readuntil(b"\r\n\r\n")
                writer.close()
            give_up = time.monotonic() + PATIENCE
            while any(issubclass(type(each), H11Protocol) for each in gc.get_objects()):
                assert time.monotonic() < give_up, "a connection is still there"
                await asyncio.sleep(0.05)
            server.should_exit = True
            await serving

    finished(closed())
