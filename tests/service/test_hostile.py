"""Attacks and accidents that the service survives: hanging children, floods of connections,
addresses that are open to anyone, a killed parent."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.service.fairness import Connections
from reranker.service.server import listening
from reranker.service.settings import load_settings
from tests.service.children.test_processes import children_of, count, until_ended
from tests.service.conftest import EXAMPLE
from tests.service.servers import Server, sentence, serving
from tests.waiting import PATIENCE, until

BODY = {"sentences": [sentence("We", "saw", "it")]}


def status(server: Server, path: str) -> int:
    """Return the status of a request on a connection of its own."""
    return httpx.get(f"{server.url}{path}", timeout=PATIENCE, verify=False).status_code


# Connections.


@contextlib.contextmanager
def connections(server: Server, number: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as held:
        made = []
        for _ in range(number):
            connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            made.append(held.enter_context(connection))
            connection.sendall(sent)
        yield made


def closed_while_idle(client: httpx.Client) -> float:
    """Return how many connections were closed to make room; 0 before the metric's first line."""
    named = 'rerank_closed_connections_total{reason="idle"} '
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.removeprefix(named)) for line in lines if line.startswith(named))


def until_others_have_gone(server: Server) -> None:
    """Wait for the end of another test's connections, which the server may not have noticed yet."""
    with server.client() as client:
        until(lambda: "\nrerank_connections 1.0\n" in client.get("/metrics").text)


def test_idle_connections_make_room(crowded: Server) -> None:
    """With 400 connections where 20 may be open, the next client is served at once."""
    until_others_have_gone(crowded)
    with crowded.client() as client:
        closed = closed_while_idle(client)
    lines = len(crowded.log)
    with connections(crowded, 400), crowded.client() as client:
        assert client.post("/rerank", json=BODY).status_code == 200
        assert count(client, "connections") <= 20
        assert closed_while_idle(client) - closed >= 380
    assert len(crowded.log) - lines < 20


def test_busy_connections_leave_health_alone(crowded: Server) -> None:
    """Twenty bodies do not go on: nobody else is served, except requests for health, any number of
    them."""
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    slow = head + b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    until_others_have_gone(crowded)
    with connections(crowded, 20, slow) as made:
        for connection in made:  # else it could be idle, and closed for the next
            assert connection.recv(100).startswith(b"HTTP/1.1 100")
        assert status(crowded, "/info") == 503
        with connections(crowded, 100, b"GET"):
            for path in ("/health/live", "/health/ready"):
                assert status(crowded, path) == 200
        # Their connections are closed after the answer, so that there is room for the next.
        asking = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connections(crowded, 1, asking) as (spare,):
            answer = b"".join(iter(lambda: spare.recv(100_000), b""))
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"}\n")
        refused = httpx.get(f"{crowded.url}/info", timeout=PATIENCE, verify=False)
        assert refused.json()["error"]["code"] == "too-many-connections"


def test_no_files_are_left(server: Server) -> None:
    """There were 67,000 lines of the log in a minute; there is one a second."""
    process = server.process.pid
    with server.client() as client:
        assert client.get("/health/live").status_code == 200
        before = resource.prlimit(process, resource.RLIMIT_NOFILE)
        files = len(os.listdir(f"/proc/{process}/fd"))
        resource.prlimit(process, resource.RLIMIT_NOFILE, (files + 5, before[1]))
        try:
            started = time.monotonic()
            with connections(server, 50):
                server.logged("no connection can be accepted")
                time.sleep(2)
                lines = [line for line in server.log if "accept" in line["event"]]
                assert len(lines) <= time.monotonic() - started + 1
        finally:  # other tests use this server, too
            resource.prlimit(process, resource.RLIMIT_NOFILE, before)
    assert status(server, "/health/live") == 200


def test_the_limit_of_files_is_raised(server: Server) -> None:
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == min(hard, 65_536)


class Peer:
    """A connection from an address."""

    def __init__(self, address: str) -> None:
        self.address = address


def test_whose_connection_is_closed() -> None:
    """At most four, two of an address, and one spare."""
    table: Connections[Peer] = Connections(4, 2, 1, ["10.0.0.0/8"])
    first, second, third = Peer("a"), Peer("a"), Peer("a")
    assert [table.add(each) for each in (first, second, third)] == [None, None, first]
    table.begin(second)
    table.begin(third)
    spare = Peer("a")
    assert table.add(spare) is None and table.is_spare(spare)  # none of that address is idle
    other = Peer("a")
    assert table.add(other) is spare and table.is_spare(other)
    table.rest(second)
    proxied = [Peer("10.1.2.3") for _ in range(2)]
    assert [table.add(each) for each in proxied] == [None, None]
    assert table.add(Peer("10.1.2.3")) is proxied[0]  # four are open: of who has most idle ones
    for each in (second, third, other, proxied[1]):
        table.remove(each)
    assert table.total == 1
    # Nothing is kept of an address without connections, whatever is still told of one.
    for late in (table.rest, table.begin):
        late(second)
    assert "a" not in table._open and "a" not in table._idle


# Addresses, hosts and pages of other sites.


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_open_address_needs_keys(host: str) -> None:
    with pytest.raises(InputError, match="--public"):
        listening(load_settings({"host": host, "port": 0}))
    listening(load_settings({"host": host, "port": 0, "public": True})).close()


# One function for the command's --top and the service's top_n.


def test_top_is_the_commands(server: Server, models: list[str], tmp_path: Path) -> None:
    top = 3
    lists = "\n\n".join(EXAMPLE.read_text(encoding="utf-8").split("\n\n")[:5]) + "\n"
    nbest, out = tmp_path / "nbest", tmp_path / "ranked"
    nbest.write_text(lists, encoding="utf-8")
    command = ["--nbest", str(nbest), "--models", *models, "--top", str(top)]
    assert main([*command, "--output", "ranked", "--out", str(out)]) == 0
    asked = [json.loads(line)["ranking"] for line in out.read_text("utf-8").splitlines()]
    assert any(len(ranking) > top for ranking in asked), "no tree among the best has a duplicate"
    with server.client() as client:
        headers = {"Content-Type": "text/plain"}
        answer = client.post(f"/rerank?top_n={top}", content=lists, headers=headers).json()
    rankings = [each["ranking"] for each in answer["sentences"]]
    assert [[row["index"] for row in ranking] for ranking in rankings] == [
        [row["index"] for row in ranking] for ranking in asked
    ]


# A parent that is killed.


def test_a_killed_parent_leaves_nothing(models: list[str], tmp_path: Path) -> None:
    """Neither a child nor a folder, in /dev/shm or where temporary files are."""
    shared = Path("/dev/shm")
    before = set(shared.iterdir()) if shared.exists() else set()
    with serving(models, TMPDIR=str(tmp_path)) as server:
        with server.client() as client:
            assert client.post("/parse", json={"text": "It runs."}).status_code == 200
            # Long bodies are read in another process than short ones.
            assert client.post("/rerank", json={"documents": ["y" * 100_001]}).status_code == 200
        names = ("scoring_main", "reading_main")
        children = [child for name in names for child in children_of(server, name)]
        assert len(children) == 3
        server.process.kill()
        for child in children:
            until_ended(child)
        until(lambda: not list(tmp_path.iterdir()))
        assert not {each for each in set(shared.iterdir()) - before if "rerank" in each.name}


def test_limits_of_connections_are_settings() -> None:
    settings = load_settings({"connections": 10})
    assert settings.limits["connections"] == 10 and settings.limits["address_connections"] == 250
