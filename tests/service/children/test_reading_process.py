"""Bodies that take long to read: whoever sends them waits, or is told why not, and nobody else."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.service.children.test_processes import children_of
from tests.service.http.test_rerank import metric
from tests.service.servers import Server, sentence, serving
from tests.waiting import until

TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}
TREE = "(S1 (S (NP (PRP We)) (VP (VBP saw) (NP (PRP it)))))"
LIST = f"-1\t{TREE}\n-2\t(S1 (X (PRP We) (VBP saw) (PRP it)))\n\n"
NUMBERS = "1" * 98_000 + "x"


def padded(candidates: int) -> dict[str, str]:
    """Return candidates that are each repaired to 9,000 words, which takes some milliseconds."""
    return {
        "nbest": "(A XX )A\n\n" + "(A XX )A\n" * candidates,
        "format": "seq2seq",
        "tokens": "a\n" + "a " * 9000,
    }


def long_list(candidates: int) -> dict[str, str]:
    """Return candidates that are written in full, 900 words each, which take a millisecond or
    two."""
    return {
        "nbest": "(A XX )A\n\n" + f"(A {'XX ' * 900})A\n" * candidates,
        "format": "seq2seq",
        "tokens": "a\n" + "a " * 900,
    }


@pytest.fixture(scope="module")
def patient(models: list[str]) -> Iterator[Server]:
    """Yield a server that reads a body without a limit but its request's deadline."""
    flags = ("--reading-seconds", "1000", "--max-candidates", "10000", "--max-tree-tokens", "10000")
    with serving(models, *flags) as server:
        yield server


def ranked(client: httpx.Client) -> list[object]:
    """Return the same list as text and as JSON."""
    as_text = client.post("/rerank", content=LIST, headers=TEXT)
    as_json = client.post("/rerank", json={"sentences": [sentence("We", "saw", "it")]})
    return [answer.raise_for_status().json()["sentences"] for answer in (as_text, as_json)]


@contextlib.contextmanager
def neighbours(server: Server) -> Iterator[None]:
    """Run clients that ask all the while and get the same answers as before; the service stays
    alive."""
    with server.client() as client:
        expected = ranked(client)
    has_ended = threading.Event()
    wrong: list[object] = []
    counts = [0, 0]

    def ask(number: int, check: Callable[[httpx.Client], object]) -> None:
        with server.client() as client:
            while not has_ended.is_set():
                answer = check(client)
                if answer not in (expected, {"status": "live"}):
                    wrong.append(answer)
                counts[number] += 1

    asking = [
        threading.Thread(target=ask, args=(0, ranked)),
        threading.Thread(target=ask, args=(1, lambda client: client.get("/health/live").json())),
    ]
    for thread in asking:
        thread.start()
    try:
        yield
        seen = counts.copy()
        until(lambda: all(now > before for now, before in zip(counts, seen, strict=True)))
    finally:
        has_ended.set()
        for thread in asking:
            thread.join()
    assert not wrong


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [NUMBERS, "(A " * 33_000, "0 ||| a" + " " * 98_000 + "b", "e\u0300\u0316" * 19_000],
    ids=["digits", "brackets", "spaces", "marks"],
)
def test_repetitions_are_read_at_once(server: Server, body: str) -> None:
    """The first of these took 92 seconds, in which nobody had an answer."""
    with neighbours(server), server.client() as client:
        for content, headers in ((body, TEXT), (json.dumps({"nbest": body}), JSON)):
            answer = client.post("/rerank", content=content, headers=headers)
            assert answer.status_code in (200, 422)
            assert "reading_seconds" not in answer.text


def test_a_list_for_a_long_sentence_is_refused_before_it_is_repaired(server: Server) -> None:
    """Each of 6,000 candidates would take 9,000 words: a gigabyte."""
    with server.client() as client:
        answer = client.post("/rerank", json=padded(6000))
        assert code(answer) == (422, "over-limit")
        assert "list 2 with 6000 candidates" in answer.json()["error"]["message"]


def test_reading_has_a_limit_of_cpu_time(models: list[str]) -> None:
    """A twentieth of a second is enough for a list, and not for 11,000; the limit is in /info."""
    flags = ("--reading-seconds", "0.05", "--max-sentences", "20000")
    with serving(models, *flags) as server, server.client() as client:
        with neighbours(server):
            (short,) = children_of(server, "reading_main")
            answer = client.post("/validate", content=LIST * 11_000, headers=TEXT)
            assert code(answer) == (422, "over-limit")
            assert answer.json()["error"]["message"] == (
                "the CPU time to read the body is more than the limit reading_seconds = 0.05 allows"
            )
            assert short in children_of(server, "reading_main"), (
                "only the one that was busy has ended"
            )
        line = server.logged("reading took too long")
        assert line["error"] == "a child process was ended by SIGPROF"
        assert client.get("/info").json()["limits"]["reading_seconds"] == 0.05
        # Another takes its place: a body this long is read where the other was.
        padded_list = json.dumps({"nbest": LIST}) + " " * 100_000
        answer = client.post("/validate", content=padded_list, headers=JSON)
        assert answer.status_code == 200


def test_reading_ends_at_the_deadline(patient: Server) -> None:
    """However long it would take; a list that is read as a whole does not look at the clock."""
    ended = "reading did not stop and was ended"
    with neighbours(patient), patient.client() as client:
        for seconds in ("1", "3", "9", "27"):  # at the first ones the list may not be begun
            before = cancelled(client)
            answer = client.post(
                "/validate", json=long_list(5_000), headers={"X-Request-Timeout": seconds}
            )
            assert code(answer) == (504, "deadline")
            until(lambda: cancelled(client) > before and not busy(client))  # noqa: B023
            if ended in [line["event"] for line in patient.log]:
                break
        patient.logged(ended)
        assert client.post("/validate", json=long_list(1)).status_code == 200


def cancelled(client: httpx.Client) -> float:
    return metric(client, "rerank_cancelled_readings_total")


def busy(client: httpx.Client) -> float:
    return metric(client, 'rerank_reading_busy{pool="long bodies"}')
