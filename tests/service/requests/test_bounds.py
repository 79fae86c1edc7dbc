"""Attacks that nobody should be able to make on the others: bodies that are bombs, work without a
client."""

from __future__ import annotations

import contextlib
import json
import random
import re
import select
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.service.servers import Server, begun, sentence, serving
from tests.waiting import until

TREE = "(S1 (S (NP (PRP We)) (VP (VBP saw) (NP (PRP it)))))"
KIND = {"sentences": [sentence("We", "saw", "it")]}
CHECKPOINTS = str(Path(__file__).parents[3] / "ckpt" / "*.pt")


def send(
    server: Server, body: bytes, path: str = "/rerank", length: int | None = None
) -> socket.socket:
    """Return a connection with a request on its way, or part of one that is ``length`` long."""
    connection = begun(server, b"", length or len(body), path)
    threading.Thread(target=_send_rest, args=(connection, body), daemon=True).start()
    return connection


def _send_rest(connection: socket.socket, body: bytes) -> None:
    with contextlib.suppress(OSError):  # answered or closed before the end
        connection.sendall(body)


def memory(server: Server) -> float:
    """Return the resident memory in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


BOMBS = {
    "max_candidates": b'{"documents": [' + b'"", ' * 400_000 + b'""]}',
    "max_sentences": b'{"sentences": ['
    + b'{"candidates": []}, ' * 100_000
    + b'{"candidates": []}]}',
    "max_values": b'{"sentences": [{"tokens": [' + b'"", ' * 1_000_000 + b'""]}]}',
    "max_tree_bytes": b'{"documents": ["' + b"(" * 3_000_000 + b'"]}',
}


@pytest.mark.parametrize("limit", BOMBS)
def test_a_bomb_is_refused_before_lists_are_made_of_it(server: Server, limit: str) -> None:
    """A limit names it, and the process that answers holds hardly more than its bytes."""
    before = memory(server)
    with server.client() as client:
        answer = client.post("/rerank", content=BOMBS[limit], headers=JSON)
    assert answer.status_code == 422 and limit in answer.json()["error"]["message"]
    assert memory(server) - before < 50


def test_49_000_wrong_tokens_cost_one_error(server: Server) -> None:
    """Each had an error of its own, made and written twice."""
    body = json.dumps({"sentences": [{"tokens": [1] * 49_000, "candidates": []}]}).encode()
    assert len(body) > 98_000
    with server.client() as client:
        answer = client.post("/rerank", content=body, headers=JSON)
    assert answer.json()["error"]["param"] == "sentences.0.tokens.0"


def test_bombs_hold_up_nobody(crowded: Server) -> None:
    """Three parts of bodies of 75,000 empty strings that do not go on, and kind requests."""
    before = memory(crowded)
    bomb = b'{"documents": [' + b'"", ' * 75_000 + b'""]}'
    with crowded.client() as client, contextlib.ExitStack() as held:
        client.post("/rerank", json=KIND)
        for _ in range(3):
            held.enter_context(send(crowded, bomb[:2_000], length=len(bomb)))
        until_in_flight(client, 3)
        for path in ["/health/live"] * 30:
            assert client.get(path).status_code == 200
        assert client.post("/rerank", json=KIND).status_code == 200
        assert in_flight(client) == 3
    assert memory(crowded) - before < 100
    with crowded.client() as client:
        until_in_flight(client, 0)


def test_bytes_of_all_bodies_are_bounded(crowded: Server) -> None:
    """Beside a body of 900 kB another is refused, a small one is not, and the first is read."""
    filler = b" " * 900_000
    body = json.dumps(KIND).encode()

    def another(client: httpx.Client) -> httpx.Response:
        return client.post("/rerank", content=filler + body, headers=JSON)

    def beside_the_first() -> httpx.Response | None:
        """Return the refusal; None if the first was refused, because more of the other had
        arrived."""
        with crowded.client() as client, begun(crowded, b"", len(filler) + len(body)) as first:
            first.sendall(filler)
            until_in_flight(client, 1)
            while not select.select([first], [], [], 0)[0]:
                answer = another(client)
                if answer.is_error:
                    assert client.post("/rerank", json=KIND).status_code == 200
                    first.sendall(body)
                    return answer if first.recv(12) == b"HTTP/1.1 200" else None
            return None

    answer = until(beside_the_first)
    assert answer is not None and answer.status_code == 429
    assert answer.json()["error"]["code"] == "queue-full"
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    with crowded.client() as client:
        until(lambda: not another(client).is_error)


JSON = {"Content-Type": "application/json"}


def long_request() -> bytes:
    """Return 34 lists of 40 trees of 40 words in different orders: many seconds of work."""
    words = ["the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "with", "as"]
    chance = random.Random(1)

    def tree() -> str:
        nodes = (f"(NP (NN {word}))" for word in order)
        return f"(S1 (S {' '.join(nodes)}))"

    lists = []
    for _ in range(34):
        order = chance.choices(words, k=40)
        lists += [{"candidates": [tree().replace("NP", "VP", n) for n in range(40)]}]
    return json.dumps({"sentences": lists}).encode()


@pytest.mark.slow
def test_sigterm_while_scoring_for_nobody() -> None:
    """The client of a long request is gone, and the process ends (how soon: test_sigterm.py)."""
    with serving([CHECKPOINTS], "--drain-seconds", "1") as server:
        with send(server, long_request()) as connection:
            until_scoring(server)
            connection.close()
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == 0


@pytest.mark.slow
def test_sigterm_while_scoring_for_somebody() -> None:
    with (
        serving([CHECKPOINTS], "--drain-seconds", "0.5") as server,
        send(server, long_request()) as connection,
    ):
        until_scoring(server)
        server.process.send_signal(signal.SIGTERM)
        assert connection.recv(12) == b"HTTP/1.1 503"
        assert server.end() == 0


def in_flight(client: httpx.Client) -> int:
    (count,) = re.findall(r"^rerank_requests_in_flight (\d+)", client.get("/metrics").text, re.M)
    return int(count)


def until_in_flight(client: httpx.Client, requests: int) -> None:
    until(lambda: in_flight(client) == requests)


def until_scoring(server: Server, requests: int = 1) -> None:
    """Wait until so many requests have left the queue."""
    count = re.compile(r"rerank_queue_wait_seconds_count (\d+)")
    with server.client() as client:
        until(
            lambda: (
                (found := count.search(client.get("/metrics").text)) and int(found[1]) >= requests
            )
        )
    time.sleep(0.2)
