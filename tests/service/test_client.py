"""``reranker.client`` answers as ``Reranker`` does, and comes back when it is asked to."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import time
from typing import Any, ClassVar

import httpx
import nltk
import pytest

from reranker import Ranking, Reranker, Weighing
from reranker.client import AsyncClient, Client, ServiceError, _asked_pause, _pause
from reranker.errors import RerankError
from reranker.trees import Tree
from tests.answering import Answers, answering
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip
from tests.service.servers import Server
from tests.waiting import finished


def test_the_same_ranking_as_in_the_process(server: Server, models: list[str]) -> None:
    reranker = Reranker.load(models)
    weighing = Weighing(0.4, "token-perplexity")
    scores = [-30.5, -31.0, -30.0, -32.0, -33.0, -30.25]
    with Client(server.url) as client:
        assert client.rerank(CANDIDATES) == reranker.rerank(CANDIDATES)
        here = reranker.rerank(CANDIDATES, scores, weighing)
        assert client.rerank(CANDIDATES, scores, weighing) == here
        assert here.margin is not None
        (of_text,) = client.rerank_text(bllip(CANDIDATES))
        here = reranker.rerank(CANDIDATES)
        assert [one.nll for one in of_text.ranking] == [one.nll for one in here.ranking]
        (detailed,) = client.rerank_lists([{"candidates": list(CANDIDATES)}], token_scores=True)
        assert detailed.ranking[0].token_scores is not None
        broken = bllip(CANDIDATES).replace("We", "W\udcff", 1)  # a byte that is not UTF-8
        (of_text,) = client.rerank_text(broken)
        assert [each.code for each in of_text.rejected] == ["encoding"]
        log_probability, nothing = client.score([CANDIDATES[0], "(("])
        assert log_probability == -client.rerank(CANDIDATES[:1]).ranking[0].nll
        assert nothing is None
        assert client.info()["limits"]["max_depth"] == 500
        with pytest.raises(RerankError, match="1 parser scores for 6"):
            client.rerank(CANDIDATES, [-1.0])


def test_trees_of_all_kinds_and_a_weight(server: Server) -> None:
    parser = [-30.5, -31.0, -30.0, -32.0, -33.0, -30.25]
    kinds = [
        *map(Tree.from_string, CANDIDATES[:3]),
        *map(nltk.Tree.fromstring, CANDIDATES[3:5]),
        CANDIDATES[5],
    ]
    with Client(server.url) as client:
        assert client.rerank(kinds) == client.rerank(CANDIDATES)
        mixed = client.rerank(kinds, parser, lm_weight=0.4)
        assert mixed == client.rerank(CANDIDATES, parser, Weighing(0.4))
        with pytest.raises(RerankError, match="expected a list of candidates"):
            client.rerank(CANDIDATES[0])
        with pytest.raises(RerankError, match="tokens "):
            client.rerank(CANDIDATES, tokens="We saw the man with eyes .")
        missing = [math.nan, *parser[1:]]  # as in the process, it counts as none
        ranked = {entry.index: entry for entry in client.rerank(CANDIDATES, missing)}
        assert (ranked[0].parser_score, ranked[1].parser_score) == (None, -31.0)


def test_keys_of_a_later_version_are_ignored() -> None:
    entry = {
        "index": 1, "relevance_score": -2.5, "nll": 2.5, "perplexity": None, "tokens": 4,
        "unknown_words": 0, "parser_score": None, "duplicate_of": None, "repaired": False,
        "tree": "(A b)", "confidence": 0.75,
    }  # fmt: skip
    sentence = {
        "id": "7", "ranking": [entry], "fallback": None, "rejected": [], "confidence": 0.75,
    }  # fmt: skip
    Later.sentences = json.dumps({"sentences": [sentence], "build": "x"}).encode()
    with answering(Later) as port, Client(f"http://127.0.0.1:{port}", retries=0) as client:
        ranking = client.rerank(["(A b)"])
    assert ranking.best is not None
    assert (ranking.best.score, ranking.best.tree) == (-2.5, "(A b)")
    assert ranking.best.perplexity == math.inf


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"<html>", b'{"sentences": [{"id": "0"}]}'])
def test_what_is_no_answer_of_the_service_is_refused(answer: bytes) -> None:
    Later.sentences = answer
    with (
        answering(Later) as port,
        Client(f"http://127.0.0.1:{port}", retries=0) as client,
        pytest.raises(ServiceError, match="not an answer of `rerank serve`") as caught,
    ):
        client.rerank(["(A b)"])
    assert (caught.value.status, caught.value.code) == (200, "answer")


def test_what_cannot_be_sent_is_refused_at_once() -> None:
    with pytest.raises(RerankError, match="https://"):
        Client("localhost:8000")
    with pytest.raises(RerankError, match="api_key has characters"):
        Client(api_key="ü")
    with (
        Client() as client,
        pytest.raises(RerankError, match="candidate 2: byte 0xe9 is not UTF-8"),
    ):
        client.rerank(["(S (NN a))", "(S (NN caf\udce9))"])


class Later(Answers):
    """A service of a later version, as far as a client sees."""

    sentences: ClassVar[bytes] = b""

    def do_POST(self) -> None:
        self.body()
        self.answer(self.sentences)


def test_errors_have_their_code(server: Server) -> None:
    with Client(server.url) as client, pytest.raises(ServiceError) as caught:
        client.rerank_text("no list")
    assert (caught.value.status, caught.value.code) == (422, "unreadable")
    assert caught.value.request_id


class Moody(Answers):
    """A service that answers with one status after the other."""

    statuses: ClassVar[list[int]] = []
    deadlines: ClassVar[list[str | None]] = []
    retry_after: ClassVar[str] = "7"

    def do_GET(self) -> None:
        self.deadlines.append(self.headers["X-Request-Timeout"])
        self.answer(b"{}", self.statuses.pop(0), {"Retry-After": self.retry_after})


@pytest.mark.parametrize(
    "statuses, expected, pauses",
    [([429, 200], None, 1), ([503, 429], 429, 1), ([500], 500, 0), ([404], 404, 0)],
)
def test_retries(
    statuses: list[int],
    expected: int | None,
    pauses: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a pause at least as long as Retry-After asks; each attempt has its deadline."""
    slept: list[float] = []
    Moody.deadlines.clear()
    monkeypatch.setattr(time, "sleep", slept.append)
    Moody.statuses, Moody.retry_after = [*statuses], "7"
    with answering(Moody) as port:
        url = f"http://127.0.0.1:{port}"
        with Client(url, timeout=42.5, retries=1) as client:
            if expected is None:
                assert client.info() == {}
            else:
                with pytest.raises(ServiceError) as caught:
                    client.info()
                assert caught.value.status == expected
    assert len(slept) == pauses and not Moody.statuses
    assert Moody.deadlines == ["42.5"] * len(statuses)
    assert all(7 <= seconds <= 1.25 * 7 for seconds in slept)


DATE = b"Fri, 27 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    "asked, seconds",
    [
        ("7", 7),
        (" 0 ", 0),
        ("1.5", 1.5),
        ("Fri, 27 Nov 2026 10:00:30 GMT", 30),
        ("Friday, 27-Nov-26 10:00:30 GMT", 30),
        ("Fri Nov 27 10:00:30 2026", 30),
        ("Fri, 27 Nov 2026 11:00:30 +0100", 30),
        ("Fri, 27 Nov 2026 09:00:00 GMT", 0),  # is over
        # Values that are not a pause.
        ("", 0),
        ("soon", 0),
        ("-3", 0),
        ("²", 0),
        ("inf", 0),
        ("Fri, 99 Nov 99999999 10:00:30 GMT", 0),
    ],
)
def test_how_long_a_service_asks_to_wait(asked: str, seconds: float) -> None:
    """A date counts from the answer's own; ``client._asked_pause``."""
    request = httpx.Request("GET", "http://localhost/info")
    headers = [(b"Retry-After", asked.encode("latin-1")), (b"Date", DATE)]
    assert _asked_pause(httpx.Response(429, headers=headers, request=request)) == seconds


@pytest.mark.parametrize("attempt", [0, 5, 5000])
def test_a_pause_is_never_shorter_than_asked_for_nor_longer_than_the_timeout(attempt: int) -> None:
    for asked in (0.0, 7.0, 41.0, 42.5):
        assert asked <= _pause(attempt, asked, 42.5) <= 42.5
        assert _pause(attempt, asked, 42.5) > 0


@pytest.mark.parametrize("asked", ["600", "43", "Tue, 01 Jan 2999 00:00:00 GMT", "9" * 300])
def test_a_longer_pause_than_the_timeout_is_an_error_at_once(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"slept {seconds}"))
    Moody.statuses, Moody.retry_after = [429, 503], asked
    with answering(Moody) as port:
        url = f"http://127.0.0.1:{port}"
        for status in (429, 503):
            with Client(url, timeout=42.5) as client, pytest.raises(ServiceError) as caught:
                client.info()
            assert caught.value.status == status
            assert "; it asks to come back in " in str(caught.value)
            assert str(caught.value).endswith(" s, which is longer than timeout = 42.5 s")


def test_an_asynchronous_client_answers_the_same(server: Server) -> None:
    async def ask() -> tuple[list[Ranking], list[float | None], dict[str, Any]]:
        async with AsyncClient(server.url) as client:
            with pytest.raises(RerankError, match="1 parser scores for 6"):
                await client.rerank(CANDIDATES, [-1.0])
            with pytest.raises(ServiceError, match="not an n-best list"):
                await client.rerank_text("no list")
            rankings = await asyncio.gather(*(client.rerank(CANDIDATES[n:]) for n in range(4)))
            return rankings, await client.score(CANDIDATES), await client.info()

    rankings, scores, info = finished(ask())
    with Client(server.url) as client:
        assert rankings == [client.rerank(CANDIDATES[n:]) for n in range(4)]
        assert scores == client.score(CANDIDATES)
        assert info == client.info()


def test_an_asynchronous_client_comes_back_and_gives_up() -> None:
    async def ask(url: str) -> None:
        async with AsyncClient(url, retries=1) as client:
            assert await client.info() == {}
            with pytest.raises(ServiceError) as caught:
                await client.info()
            assert caught.value.status == 404

    Moody.statuses, Moody.retry_after = [429, 200, 404], "0"
    with answering(Moody) as port:
        finished(ask(f"http://127.0.0.1:{port}"))
    with pytest.raises(ServiceError) as caught:
        finished(ask("http://127.0.0.1:9"))
    assert (caught.value.status, caught.value.code) == (0, "unreachable")


def test_both_clients_can_ask_the_same_with_the_same_arguments() -> None:
    for name in ("rerank", "rerank_lists", "rerank_text", "parse", "score", "info"):
        assert inspect.signature(getattr(Client, name)) == inspect.signature(
            getattr(AsyncClient, name)
        )
        assert inspect.getdoc(getattr(Client, name))
    client = Client()
    assert "parser_scores" in inspect.signature(client.rerank).parameters
    assert "self" not in inspect.signature(client.rerank).parameters
    client.close()


def test_nobody_there() -> None:
    with Client("http://127.0.0.1:9", retries=1) as client, pytest.raises(ServiceError) as caught:
        client.info()
    assert (caught.value.status, caught.value.code) == (0, "unreachable")
