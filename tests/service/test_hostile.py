"""What an attacker or an operator must see: children that hang, floods of connections, addresses
that are open to anyone, a parent that is killed."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reranker.service.fairness import Connections
from reranker.service.settings import load_settings
from tests.service.children.test_processes import children_of, count, until_ended
from tests.service.servers import RERANK, Server, sentence, serving
from tests.waiting import PATIENCE, until

BODY = {"sentences": [sentence("We", "saw", "it")]}
EXAMPLE = Path(__file__).parents[2] / "examples" / "parses.txt"


def status(server: Server, path: str) -> int:
    """On a connection of its own."""
    return httpx.get(f"{server.url}{path}", timeout=PATIENCE).status_code


# Children that hang.


def test_a_stopped_scoring_child_is_replaced_and_ready_says_so(models: list[str]) -> None:
    """Requests failed with 504 and ready said 200 for ever."""
    with serving(models, "--heartbeat-seconds", "5") as server, server.client() as client:
        before = client.post("/rerank", json=BODY).json()["sentences"]
        (child,) = children_of(server, "scoring_main")
        os.kill(child, signal.SIGSTOP)
        answer = client.post("/rerank", json=BODY)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "worker-crashed")
        until(lambda: status(server, "/health/ready") == 200)
        assert status(server, "/health/live") == 200
        assert client.post("/rerank", json=BODY).json()["sentences"] == before
        assert count(client, 'hung_children_total{child="scoring"}') == 1
        assert children_of(server, "scoring_main") != [child]


@pytest.mark.slow  # of one engine: tests/service/scheduling/test_engines.py
def test_a_child_that_hangs_again_and_again_ends_life(models: list[str]) -> None:
    """It is stopped as soon as it is ready; nothing is scored in between."""
    with serving(models, "--heartbeat-seconds", "5") as server, server.client() as client:
        stopped: set[int] = set()
        while status(server, "/health/live") == 200:
            new = set(children_of(server, "scoring_main")) - stopped
            if new and status(server, "/health/ready") == 200:
                stopped |= new
                for child in new:
                    os.kill(child, signal.SIGSTOP)
            time.sleep(0.01)
        assert len(stopped) == 3 and status(server, "/health/ready") == 503
        server.logged("scoring crashed and cannot be restarted")
        assert client.post("/rerank", json=BODY).status_code == 503


def test_a_stopped_reading_child_costs_one_request(models: list[str]) -> None:
    with serving(models, "--heartbeat-seconds", "5") as server, server.client() as client:
        (child,) = children_of(server, "reading_main")
        os.kill(child, signal.SIGSTOP)
        answer = client.post("/rerank", json=BODY)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "reader-crashed")
        assert client.post("/rerank", json=BODY).status_code == 200
        assert count(client, 'hung_children_total{child="reading"}') == 1


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


def test_idle_connections_make_room(models: list[str]) -> None:
    """400 of them, where 20 may be open: whoever comes next is served at once."""
    with serving(models, "--connections", "20") as server, connections(server, 400):
        with server.client() as client:
            assert client.post("/rerank", json=BODY).status_code == 200
            assert count(client, "connections") <= 20
            assert count(client, 'closed_connections_total{reason="idle"}') >= 380
        assert len(server.log) < 20


def test_busy_connections_leave_health_alone(models: list[str]) -> None:
    """Twenty bodies that do not go on: nobody else is served, but for who asks for health, however
    many others ask, too."""
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    slow = head + b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    with (
        serving(models, "--connections", "20", "--body-seconds", "600") as server,
        connections(server, 20, slow) as made,
    ):
        for connection in made:  # else it could be idle, and closed for the next
            assert connection.recv(100).startswith(b"HTTP/1.1 100")
        assert status(server, "/info") == 503
        with connections(server, 100, b"GET"):
            for path in ("/health/live", "/health/ready"):
                assert status(server, path) == 200
        refused = httpx.get(f"{server.url}/info", timeout=PATIENCE)
        assert refused.json()["error"]["code"] == "too-many-connections"


def test_no_files_are_left(models: list[str]) -> None:
    """There were 67,000 lines of the log in a minute; there is one a second."""
    with serving(models) as server:
        files = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        with server.client() as client:
            assert client.get("/health/live").status_code == 200
            before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (files + 5, before[1]))
            started = time.monotonic()
            with connections(server, 50):
                server.logged("no connection can be accepted")
                time.sleep(2)
                lines = [line for line in server.log if "accept" in line["event"]]
                assert len(lines) <= time.monotonic() - started + 1
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
        assert status(server, "/health/live") == 200


def test_the_limit_of_files_is_raised(models: list[str]) -> None:
    with serving(models) as server:
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


@pytest.mark.parametrize("flags", [["--host", "0.0.0.0"], ["--host", "::"]])
def test_an_open_address_needs_keys(models: list[str], flags: list[str]) -> None:
    command = [RERANK, "serve", "--port", "0", "--models", *models, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "--public" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("is_public", [False, True])
def test_with_keys_or_on_purpose_it_is_open(models: list[str], is_public: bool) -> None:
    flags = ("--host", "0.0.0.0", "--public" if is_public else "--no-public")
    with serving(models, *flags, RERANK_API_KEYS="" if is_public else "secret") as server:
        url = f"http://127.0.0.1:{server.port}"
        assert httpx.get(f"{url}/info", headers={"X-API-Key": "secret"}).status_code == 200


HOSTS = [
    ("127.0.0.1:8000", 200),
    ("[::1]:8000", 200),
    ("localhost", 200),
    ("Rerank.Example", 200),
    ("evil.example", 421),
    ("localhost.evil.example:8000", 421),
]


def test_only_known_hosts_are_answered(models: list[str]) -> None:
    """A name that an attacker's DNS points at this machine is not among them; health is for all."""
    with serving(models, "--allow-host", "rerank.example") as server, server.client() as client:
        for host, expected in HOSTS:
            assert client.get("/info", headers={"Host": host}).status_code == expected, host
            assert client.get("/health/live", headers={"Host": host}).status_code == 200
    with serving(models, RERANK_API_KEYS="secret") as server, server.client() as client:
        headers = {"Host": "any.example", "X-API-Key": "secret"}
        assert client.get("/info", headers=headers).status_code == 200


def test_pages_of_other_sites_are_refused(models: list[str]) -> None:
    """A browser sends text/plain from any page without asking first; it does say which page."""
    text = {"Content-Type": "text/plain"}
    flags = ("--cors-origins", "https://ours.example")
    with serving(models, *flags) as server, server.client() as client:
        for origin, expected in (
            ("https://evil.example", 403),
            ("null", 403),
            ("http://127.0.0.1:1", 403),
            ("https://ours.example", 200),
            (server.url, 200),
        ):
            headers = {**text, "Origin": origin}
            answer = client.post("/rerank", content=EXAMPLE.read_bytes(), headers=headers)
            assert answer.status_code == expected, origin


# One function for the command's --top and the service's top_n.


@pytest.mark.parametrize("top", [1, 3])
def test_top_is_the_commands(server: Server, models: list[str], top: int) -> None:
    command = [RERANK, "--nbest", str(EXAMPLE), "--models", *models, "--top", str(top)]
    done = subprocess.run([*command, "--output", "ranked"], capture_output=True, text=True)
    asked = [json.loads(line)["ranking"] for line in done.stdout.splitlines()]
    assert any(len(ranking) > top for ranking in asked), "no tree among the best has a duplicate"
    with server.client() as client:
        headers = {"Content-Type": "text/plain"}
        answer = client.post(
            f"/rerank?top_n={top}", content=EXAMPLE.read_bytes(), headers=headers
        ).json()
    rankings = [each["ranking"] for each in answer["sentences"]]
    assert [[row["index"] for row in ranking] for ranking in rankings] == [
        [row["index"] for row in ranking] for ranking in asked
    ]


# A parent that is killed.


def test_a_killed_parent_leaves_nothing(models: list[str], tmp_path: Path) -> None:
    """Neither a child nor a folder, in /dev/shm or where temporary files are."""
    toy = Path(__file__).parents[1] / "reranker" / "parsers" / "toy_parser.py"
    flags = ("--parser-command", f"{sys.executable} {toy}", "--engines", "2")
    shared = Path("/dev/shm")
    before = set(shared.iterdir()) if shared.exists() else set()
    with serving(models, *flags, TMPDIR=str(tmp_path)) as server:
        with server.client() as client:
            assert client.post("/parse", json={"text": "It runs."}).status_code == 200
            # Long bodies are read in another process than short ones.
            assert client.post("/rerank", json={"texts": ["y" * 100_001]}).status_code == 200
        names = ("scoring_main", "reading_main", "parsing_main")
        children = [child for name in names for child in children_of(server, name)]
        assert len(children) == 5
        server.process.kill()
        for child in children:
            until_ended(child)
        until(lambda: not list(tmp_path.iterdir()))
        assert not {each for each in set(shared.iterdir()) - before if "rerank" in each.name}


def test_limits_of_connections_are_settings() -> None:
    settings = load_settings({"connections": 10, "address_connections": 5})
    assert settings.limits["connections"] == 10 and settings.limits["address_connections"] == 5
