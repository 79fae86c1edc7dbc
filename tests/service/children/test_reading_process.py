"""Bodies that take long to read: whoever sends them waits, or is told why not, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
import structlog
from structlog.testing import LogCapture

from reranker.service.errors import RequestError
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Body
from reranker.service.requests.schemas import QueryOptions
from reranker.service.scheduling import pool, readers
from reranker.service.scheduling.readers import Readers
from reranker.service.settings import load_settings
from tests.service.servers import Server, sentence
from tests.waiting import finished, until

TEXT = {"Content-Type": "text/plain"}
JSON = "application/json"
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
                has_ended.wait(0.02)  # leave the processor to what is read

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
        for content, headers in (
            (body, TEXT),
            (json.dumps({"nbest": body}), {"Content-Type": JSON}),
        ):
            answer = client.post("/rerank", content=content, headers=headers)
            assert answer.status_code in (200, 422)
            assert "reading_seconds" not in answer.text


def test_a_list_for_a_long_sentence_is_refused_before_it_is_repaired(server: Server) -> None:
    """Each of 6,000 candidates would take 9,000 words: a gigabyte."""
    with server.client() as client:
        answer = client.post("/rerank", json=padded(6000))
        assert code(answer) == (422, "over-limit")
        assert "list 2 with 6000 candidates" in answer.json()["error"]["message"]


def lists(content: str) -> Body:
    return Body("/validate", content.encode(), "text/plain", QueryOptions.model_validate({}))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> LogCapture:
    """Return the log of reading."""
    log = LogCapture()
    for module in (pool, readers):
        monkeypatch.setattr(module, "_LOGGER", structlog.wrap_logger(None, processors=[log]))
    return log


@contextlib.contextmanager
def reading(**limits: float) -> Iterator[Readers]:
    """Yield children that read bodies, without a server."""
    made = Readers(load_settings(limits), Metrics())
    try:
        yield made
    finally:
        for each in made.pools:
            each.close()


def test_reading_has_a_limit_of_cpu_time(log: LogCapture) -> None:
    """A twentieth of a second is enough for a list, and not for 11,000."""

    async def read(made: Readers) -> None:
        await made.start()
        short = made.pools[0].children[0].process
        with pytest.raises(RequestError) as caught:
            await made.read(lists(LIST * 11_000), "a")
        assert (caught.value.status, caught.value.code) == (422, "over-limit")
        message = (
            "the CPU time to read the body is more than the limit reading_seconds = 0.05 allows"
        )
        assert str(caught.value) == message
        assert short is not None and short.is_running, "only the one that was busy has ended"
        (line,) = log.entries
        assert line["event"] == "reading took too long"
        assert line["error"] == "a child process was ended by SIGPROF"
        # Another takes its place: a body this long is read where the other was.
        padded = json.dumps({"nbest": LIST}) + " " * 100_000
        contents = await made.read(lists(padded)._replace(media=JSON), "a")
        assert len(contents.lists) == 1

    with reading(reading_seconds=0.05, max_sentences=20_000) as made:
        finished(read(made))


def test_reading_ends_at_the_deadline(log: LogCapture) -> None:
    """However long it would take; a list that is read as a whole does not look at the clock."""
    body = lists("")._replace(content=json.dumps(long_list(5_000)).encode(), media=JSON)
    short = body._replace(content=json.dumps(long_list(1)).encode())

    async def read(made: Readers) -> None:
        for seconds in (1, 3, 9, 27):  # at the first ones the list may not be begun
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(made.read(body, "a"), seconds)
            while made.pools[1].count(is_begun=True):
                await asyncio.sleep(0.01)
            if log.entries:
                break
        assert [line["event"] for line in log.entries] == ["reading did not stop and was ended"]
        assert len((await made.read(short, "a")).lists) == 2

    given = {"reading_seconds": 1000, "max_candidates": 10_000, "max_tree_tokens": 10_000}
    with reading(**given) as made:
        finished(read(made))
