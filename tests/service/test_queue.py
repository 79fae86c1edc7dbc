"""The queue and its thread, without a server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker import Reranker
from reranker.nbest import NBest
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import Source, accept
from reranker.nbest.notation import Notation
from reranker.ranking import Criterion, Scored
from reranker.scoring.lanes import Cancellation
from reranker.service.errors import ServiceError
from reranker.service.metrics import Metrics
from reranker.service.queue import Work
from reranker.service.settings import Settings
from reranker.service.worker import ScoringThread, score_in_parts
from tests.reranker.ensembles import CANDIDATES, untrained

SOURCE = Source("test", Notation.BRACKETS, False)


def nbest(name: str, *trees: str) -> NBest:
    return accept(RawList(name, 1, [RawCandidate(1, tree) for tree in trees]), SOURCE)


class Watched(Reranker):
    """Remembers which lists it scored together; has room for ``room`` candidates."""

    room = 10**6

    def __init__(self, seed: int = 1) -> None:
        super().__init__([untrained(seed)])
        self.calls: list[list[str]] = []

    def score_lists(
        self,
        lists: Iterable[NBest],
        criterion: Criterion = "perplexity",
        token_scores: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        lists = list(lists)
        if sum(len(one.candidates) for one in lists) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.calls.append([one.id for one in lists])
        return super().score_lists(lists, criterion, token_scores, cancellation)


def started(reranker: Reranker, **settings: int) -> ScoringThread:
    made = ScoringThread(Settings.model_validate({"models": ["none"], **settings}), Metrics())
    made.start(lambda: Work(reranker, [nbest("warm-up", CANDIDATES[0])], later(), is_warm_up=True))
    while not made.is_ready:
        time.sleep(0.001)
    return made


def later() -> float:
    return time.monotonic() + 30


def test_a_long_request_does_not_hold_up_short_ones() -> None:
    """Two lists fill a batch: the long request's are taken in turn with the others'."""
    reranker = Watched()
    worker = started(reranker, batch_tokens=42, batch_wait_ms=50)
    long = [nbest(f"long-{place}", CANDIDATES[0]) for place in range(4)]
    short = [[nbest(name, CANDIDATES[1])] for name in ("a", "b")]

    async def ask() -> list[list[list[Scored]]]:
        works = [Work(reranker, lists, later()) for lists in (long, *short)]
        assert [work.sizes for work in works] == [[20] * 4, [22], [22]]
        return await asyncio.gather(*map(worker.score, works))

    answers = asyncio.run(ask())
    worker.stop()
    assert [len(one) for one in answers] == [4, 1, 1]
    assert reranker.calls[1:] == [["long-0", "a"], ["b", "long-1"], ["long-2", "long-3"]]
    alone = [scores for _, scores in Watched().score_lists([long[0], short[0][0]])]
    assert [answers[0][3], answers[1][0]] == alone


def test_ensembles_are_never_mixed() -> None:
    """While models are reloaded, requests for both wait; each is answered by its own."""
    old, new = Watched(1), Watched(2)
    worker = started(old, batch_wait_ms=50)

    async def ask() -> list[list[list[Scored]]]:
        works = [
            Work(reranker, [nbest(str(number), *CANDIDATES)], later())
            for number, reranker in enumerate((old, new, old, new))
        ]
        return await asyncio.gather(*map(worker.score, works))

    answers = asyncio.run(ask())
    worker.stop()
    assert answers[0] == answers[2] != answers[1] == answers[3]
    assert old.calls[1:] == [["0"], ["2"]] and new.calls == [["1"], ["3"]]


def test_cancelled_and_late_requests_are_not_scored() -> None:
    reranker = Watched()
    worker = started(reranker, batch_wait_ms=100)

    async def ask() -> None:
        given_up, late = (
            asyncio.ensure_future(worker.score(Work(reranker, [nbest(name, "(A b)")], deadline)))
            for name, deadline in (("a", later()), ("b", time.monotonic() - 1))
        )
        await asyncio.sleep(0.01)
        given_up.cancel()
        await worker.score(Work(reranker, [nbest("c", "(A b)")], later()))
        late.cancel()

    asyncio.run(ask())
    worker.stop()
    assert reranker.calls[1:] == [["c"]]


def test_who_would_wait_beyond_the_deadline_is_refused_at_once() -> None:
    reranker = Watched()
    # Nothing is scored for a second: what comes meanwhile waits.
    worker = started(reranker, batch_wait_ms=1000)

    async def ask() -> tuple[int, str]:
        # Some 4,000 tokens, at first taken for 0.4 s of work.
        long = Work(reranker, [nbest(str(n), *CANDIDATES) for n in range(35)], later())
        before = asyncio.ensure_future(worker.score(long))
        await asyncio.sleep(0.01)
        patient = Work(reranker, [nbest("b", "(A b)")], time.monotonic() + 20)
        also = asyncio.ensure_future(worker.score(patient))
        await asyncio.sleep(0.01)
        with pytest.raises(ServiceError) as caught:
            await worker.score(Work(reranker, [nbest("a", "(A b)")], time.monotonic() + 0.2))
        assert len(await before) == 35 and len(await also) == 1
        return caught.value.status, caught.value.code

    assert asyncio.run(ask()) == (429, "queue-full")
    worker.stop()


def test_after_its_end_the_queue_answers_503() -> None:
    reranker = Watched()
    worker = started(reranker)
    worker.stop()
    with pytest.raises(ServiceError) as caught:
        asyncio.run(worker.score(Work(reranker, [nbest("a", "(A b)")], later())))
    assert (caught.value.status, caught.value.code) == (503, "draining")


@pytest.mark.parametrize("room, retries", [(100, 0), (13, 1), (7, 2), (3, 5), (1, 17)])
def test_out_of_memory_halves_until_it_fits(room: int, retries: int) -> None:
    """Three lists of 6 candidates, of which 0 and 3 are the same to the models. 18 candidates are
    halved to 1 and 2 lists; the 2 to one each; a list of 6 to 3 and 3, and so on."""
    lists = [nbest(str(number), *CANDIDATES) for number in range(3)]
    roomy, tight = Watched(), Watched()
    tight.room = room
    counted: list[None] = []
    found = score_in_parts(tight, lists, True, lambda: counted.append(None))
    assert found == [scores for _, scores in roomy.score_lists(lists, token_scores=True)]
    assert found[0] and [one.duplicate_of for one in found[0]] == [None, None, None, 0, None, None]
    assert len(counted) == retries


def test_a_tree_too_large_for_the_device_fails_only_its_own_request() -> None:
    class Narrow(Watched):
        def score_lists(
            self, lists: Iterable[NBest], *arguments: Any, **named: Any
        ) -> Iterator[tuple[NBest, list[Scored]]]:
            lists = list(lists)
            if any(
                candidate.tree.label == "HUGE" for nbest in lists for candidate in nbest.candidates
            ):
                raise MemoryError
            return super().score_lists(lists, *arguments, **named)

    narrow = Narrow()
    worker = started(narrow, batch_wait_ms=50)
    huge = nbest("huge", CANDIDATES[1], CANDIDATES[1].replace("(S1 ", "(HUGE "))
    requests = [[nbest("a", *CANDIDATES)], [nbest("b", CANDIDATES[0]), huge], [nbest("c", "(A b)")]]

    async def ask() -> list[list[list[Scored]] | BaseException]:
        works = [Work(narrow, lists, later()) for lists in requests]
        return await asyncio.gather(*map(worker.score, works), return_exceptions=True)

    before, failed, after = asyncio.run(ask())
    worker.stop()
    assert isinstance(failed, ServiceError)
    assert (failed.status, failed.code) == (503, "out-of-memory")
    for lists, answer in ((requests[0], before), (requests[2], after)):
        assert answer == [scores for _, scores in Watched().score_lists(lists)]


def test_without_hope_requests_are_refused_at_once() -> None:
    """After three failed warm-ups nothing would ever take a request from the queue."""

    class Broken(Watched):
        def score_lists(self, *_: object, **__: object) -> Iterator[tuple[NBest, list[Scored]]]:
            raise ValueError("no model")

    broken = Broken()
    worker = ScoringThread(Settings.model_validate({"models": ["none"]}), Metrics())
    worker.start(lambda: Work(broken, [nbest("warm-up", "(A b)")], later(), is_warm_up=True))
    while not worker.is_hopeless:
        time.sleep(0.001)
    work = Work(broken, [nbest("a", "(A b)")], time.monotonic() + 30)
    with pytest.raises(ServiceError, match="cannot be restarted") as caught:
        asyncio.run(asyncio.wait_for(worker.score(work), 10))
    assert (caught.value.status, caught.value.code) == (503, "worker-crashed")
    assert worker.queue.tokens == 0
    worker.stop()


def test_other_errors_are_no_lack_of_memory() -> None:
    class Broken(Watched):
        def score_lists(self, *_: object, **__: object) -> Iterator[tuple[NBest, list[Scored]]]:
            raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        score_in_parts(Broken(), [nbest("a", *CANDIDATES)], False, lambda: None)


@pytest.mark.slow
def test_real_lack_of_memory_on_a_cpu() -> None:
    """A process that may have no more memory scores in parts what it cannot score at once."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("little_memory.py"))],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    retries, same = done.stdout.split()
    assert int(retries) > 0 and same == "True"
