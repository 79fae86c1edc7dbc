"""SIGTERM at any moment: the process ends with status 0, in drain_seconds + 2 s at most.

    pytest -m slow -s tests/service/test_sigterm.py

prints how long each of the twenty took.
"""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.service.requests.test_bounds import CHECKPOINTS, long_request, send
from tests.service.servers import Server, begun, serving

DRAIN_SECONDS = 2
LONG = long_request()
Situation = Callable[[Server], AbstractContextManager[None]]


@contextmanager
def idle(server: Server) -> Iterator[None]:
    yield


@contextmanager
def scoring(server: Server) -> Iterator[None]:
    with send(server, LONG):
        yield


@contextmanager
def scoring_for_nobody(server: Server) -> Iterator[None]:
    connection = send(server, LONG)
    time.sleep(0.5)
    connection.close()
    yield


@contextmanager
def receiving(server: Server) -> Iterator[None]:
    """Send half of a body, then a byte now and then."""
    done = threading.Event()
    with begun(server, LONG[: len(LONG) // 2], len(LONG)) as connection:
        thread = threading.Thread(target=_drip, args=(connection, done))
        thread.start()
        yield
        done.set()
        thread.join()


def _drip(connection: socket.socket, done: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not done.wait(0.1):
            connection.sendall(b" ")


@contextmanager
def answering(server: Server) -> Iterator[None]:
    """Request long answers for clients that do not read them."""
    with ExitStack() as opened:
        for _ in range(5):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect(("127.0.0.1", server.port))
            opened.enter_context(connection)
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        yield


@contextmanager
def streaming(server: Server) -> Iterator[None]:
    """Stream the lines of a long answer, one after another, where the service sends them."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = f"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(LONG)}\r\n"
        head += "Accept: application/x-ndjson\r\nContent-Type: application/json\r\n\r\n"
        connection.sendall(head.encode() + LONG)
        yield


@contextmanager
def all_at_once(server: Server) -> Iterator[None]:
    with ExitStack() as entered:
        for situation in (scoring, scoring_for_nobody, receiving, answering, streaming):
            entered.enter_context(situation(server))
        yield


def until_sigterm_is_handled(server: Server) -> None:
    """Wait until SIGTERM is handled: before, while Python starts, it ends the process at once."""
    bit = 1 << signal.SIGTERM - 1
    status = Path(f"/proc/{server.process.pid}/status")
    while not int(status.read_text().split("SigCgt:")[1].split()[0], 16) & bit:
        time.sleep(0.005)


SITUATIONS: list[Situation] = [
    idle,
    scoring,
    scoring_for_nobody,
    receiving,
    answering,
    streaming,
    all_at_once,
]


def seconds_to_end(server: Server) -> float:
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.end() == 0
    return time.monotonic() - start


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_sigterm_at_a_random_moment(number: int) -> None:
    chance = random.Random(number)
    is_loading = number % 4 == 0
    is_before_listening = number % 8 == 0
    situation = idle if is_loading else SITUATIONS[(number - number // 4) % len(SITUATIONS)]
    flags = ["--drain-seconds", str(DRAIN_SECONDS)]
    moment = chance.uniform(0, 1 if is_loading else 3)
    with serving([CHECKPOINTS], *flags, wait=not is_loading) as server:
        if is_before_listening:
            until_sigterm_is_handled(server)
        else:
            server.logged("listening")
        with situation(server):
            time.sleep(moment)
            seconds = seconds_to_end(server)
        events = {line["event"] for line in server.log}
    name = situation.__name__.replace("_", " ") if "ready" in events else "loading"
    name = name if "listening" in events else "before listening"
    print(f"\n{number + 1:2}: {name}, {moment:.2f} s later: {seconds:.2f} s", end="")
    assert seconds < DRAIN_SECONDS + 2
