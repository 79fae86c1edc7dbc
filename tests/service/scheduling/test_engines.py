"""Engines with real children, without a server: what is scored, and what becomes of failures."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reranker import Reranker
from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Origin, Sentence
from reranker.ranking import Scored
from reranker.service.children.scoring import Models
from reranker.service.errors import RequestError
from reranker.service.metrics import Metrics
from reranker.service.scheduling.engines import Engines
from reranker.service.scheduling.work import Kind, Work
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence
from tests.checkout import before_python_path
from tests.reranker.ensembles import CANDIDATES
from tests.service.conftest import save_models
from tests.service.servers import FRAGILE, Gate, toy_parser
from tests.waiting import PATIENCE, finished, until


class Running:
    """Engines that are ready, and their models."""

    def __init__(self, models: list[str], **settings: Any) -> None:
        self.metrics = Metrics()
        given = {"models": models, "threads": 1, "parser_model": toy_parser(), **settings}
        self.engines = Engines(Settings.model_validate(given), self.metrics)
        self.models: Models = self.engines.load()
        self.engines.start(lambda: self.models)

    def work(self, *lists: NBest, client: str = "", **options: Any) -> Work:
        return Work(self.models, lists, time.monotonic() + PATIENCE, client, **options)

    def pids(self) -> list[int]:
        """Return the processes of the children."""
        processes = [engine.child._child.process for engine in self.engines._engines]
        return [process.pid for process in processes if process is not None]

    def restarts(self) -> float:
        return float(self.metrics.child_restarts.labels("scoring")._value.get())


@contextlib.contextmanager
def running(models: list[str], **settings: Any) -> Iterator[Running]:
    made = Running(models, **settings)
    try:
        until(lambda: made.engines.is_settled)
        yield made
    finally:
        made.engines.stop()


@contextlib.contextmanager
def fragile_and_running(models: list[str], **settings: Any) -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", before_python_path(FRAGILE))
        with running(models, **settings) as made:
            yield made


@pytest.fixture(scope="module")
def listwise(models: list[str]) -> Iterator[Running]:
    """Yield engines that score a list at a time."""
    with fragile_and_running(models, batch_tokens=1) as made:
        yield made


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model of ``gathering``."""
    return Path(*save_models(tmp_path_factory.mktemp("waiting"), 1))


@pytest.fixture(scope="module")
def gathering(file: Path) -> Iterator[Running]:
    """Yield engines whose batches wait for others to join them, and that soon notice a child which
    makes no progress."""
    with fragile_and_running([str(file)], heartbeat_seconds=2) as made:
        made.engines.queue.batch_wait = 0.05
        yield made


@pytest.fixture(autouse=True)
def fragile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use children that misbehave on command."""
    monkeypatch.setenv("PYTHONPATH", before_python_path(FRAGILE))


@pytest.fixture(scope="module")
def expected(models: list[str]) -> Reranker:
    return Reranker.load(models)


def flat(*words: str) -> NBest:
    return from_candidates([f"(S1 (S {' '.join(f'(NN {word})' for word in words)}))"])


async def scores(engines: Engines, work: Work) -> list[Sequence[Scored | None]]:
    return [scored async for group in engines.score(work) for _, scored in group]


async def parsed(engines: Engines, work: Work) -> list[NBest]:
    return [nbest async for group in engines.score(work) for nbest, _ in group]


def scores_of(reranker: Reranker, *lists: NBest) -> list[Sequence[Scored | None]]:
    return [scored for _, scored in reranker.score_lists(lists)]


def test_a_long_list_is_cut_into_pieces(listwise: Running, expected: Reranker) -> None:
    """Its scores stay the same, and so do its duplicates' scores."""
    nbest = from_candidates(CANDIDATES)
    whole, cut = listwise.work(nbest), listwise.work(nbest, most_tokens=25)
    assert len(whole.pieces) == 1 and len(cut.pieces) == 5
    assert [piece.tokens for piece in cut.pieces] == [20, 22, 20, 18, 18]
    for work in (whole, cut):
        assert finished(scores(listwise.engines, work)) == scores_of(expected, nbest)


def test_certainty_is_computed_for_answers_that_tell_it(listwise: Running) -> None:
    """Nothing else of a list changes."""
    sentences = [TextSentence(Sentence.of(["It", "runs"]), Origin("", 0, "It runs", ()))]
    found = []
    for is_wanted in (True, False):
        work = listwise.work(sentences=sentences, candidates=3, is_certainty_wanted=is_wanted)
        found += finished(parsed(listwise.engines, work))
    with_certainty, without = found
    assert with_certainty.certainty is not None and without.certainty is None
    assert without == replace(with_certainty, certainty=None)


def test_the_speed_of_sentences_is_known_from_the_start(listwise: Running) -> None:
    """Speeds of all their candidates, and of the best tree alone."""
    known = listwise.engines.queue.costs.of_kind
    assert known.keys() >= {Kind(True, False), Kind(True, True)} and min(known.values()) > 0


def test_lists_are_answered_as_soon_as_they_are_scored(listwise: Running, gate: Gate) -> None:
    """The last one is not scored before another has been answered."""
    lists = [*(from_candidates(CANDIDATES[:1]) for _ in range(4)), flat("We", gate.word)]

    async def ask() -> int:
        count = 0
        async for group in listwise.engines.score(listwise.work(*lists)):
            count += len(group)
            gate.open()
        return count

    assert finished(ask()) == 5


def test_who_was_paused_is_answered_all_the_same(
    listwise: Running, expected: Reranker, gate: Gate
) -> None:
    """A batch that cannot go on by itself is paused for another client, and then answered."""
    held, short = flat("We", gate.word), flat("We", "saw")
    queue = listwise.engines.queue
    queue.costs.learn_first(40, 1)  # however fast this machine is, neither is very small
    ends: list[str] = []

    async def ask(name: str, *lists: NBest) -> list[Sequence[Scored | None]]:
        answer = await scores(listwise.engines, listwise.work(*lists, client=name))
        ends.append(name)
        return answer

    async def both() -> list[list[Sequence[Scored | None]]]:
        main = queue.engines[0].main
        busy = asyncio.ensure_future(ask("busy", *[short] * 4, held))
        while not any(piece.what is held for piece in main.batch):
            await asyncio.sleep(0.001)
        new = await ask("new", short)
        gate.open()
        return [new, await busy]

    new, busy = finished(both())
    assert ends == ["new", "busy"]
    assert (new, busy) == (scores_of(expected, short), scores_of(expected, *[short] * 4, held))


def test_a_tree_too_large_for_the_device_fails_only_its_own_request(
    gathering: Running, file: Path
) -> None:
    kind = from_candidates(CANDIDATES)

    async def ask() -> list[Any]:
        lists = [(kind,), (kind, flat("huge")), (flat("b"),)]
        asked = [scores(gathering.engines, gathering.work(*some)) for some in lists]
        return await asyncio.gather(*asked, return_exceptions=True)

    before, failed, after = finished(ask())
    assert isinstance(failed, RequestError)
    assert (failed.status, failed.code) == (503, "out-of-memory")
    reranker = Reranker.load(file)  # which another test replaces
    assert before == scores_of(reranker, kind) and after == scores_of(reranker, flat("b"))


def test_ensembles_are_never_mixed(gathering: Running, file: Path, tmp_path: Path) -> None:
    """While models are reloaded, requests for both wait; each is answered by its own."""
    nbest = from_candidates(CANDIDATES)
    old, answers = gathering.models, [scores_of(Reranker.load(file), nbest)]
    Path(*save_models(tmp_path, 2)).replace(file)
    new = gathering.engines.load()
    gathering.engines.try_out(new)
    answers.append(scores_of(Reranker.load(file), nbest))

    async def ask() -> list[list[Sequence[Scored | None]]]:
        works = []
        for gathering.models in (old, new, old, new):
            works.append(gathering.work(nbest))
        return await asyncio.gather(*(scores(gathering.engines, work) for work in works))

    assert finished(ask()) == answers * 2 and answers[0] != answers[1]


def test_several_engines_score_the_same_until_their_end(
    models: list[str], expected: Reranker, gate: Gate
) -> None:
    """While one is busy, all is answered by the other, also by models that are loaded anew; after
    the end, 503."""
    with running(models, engines=2, batch_tokens=1) as made:
        assert made.engines.ready == 2 and len({*made.pids()}) == 2

        async def ask() -> list[Sequence[Scored | None]]:
            held = asyncio.ensure_future(scores(made.engines, made.work(flat(gate.word))))
            while not any(slots.main.batch for slots in made.engines.queue.engines):
                await asyncio.sleep(0.001)
            answers = await scores(made.engines, made.work(*[flat("We", "saw")] * 20))
            gate.open()
            await held
            gate.file.unlink()
            return answers

        for _ in range(2):
            assert finished(ask()) == scores_of(expected, *[flat("We", "saw")] * 20)
            made.models = made.engines.load()
            made.engines.try_out(made.models)
        made.engines.stop()
        with pytest.raises(RequestError) as caught:
            finished(scores(made.engines, made.work(flat("b"))))
    assert (caught.value.status, caught.value.code) == (503, "draining")


def test_a_stopped_child_is_killed_and_replaced(gathering: Running) -> None:
    """The child makes no progress: the request in it fails, the next is answered; ready says so at
    once. An idle child: test_child.py."""
    restarts, hung = gathering.restarts(), gathering.metrics.hung_children.labels("scoring")._value
    hung_before = hung.get()
    (pid,) = gathering.pids()
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RequestError) as caught:
        finished(scores(gathering.engines, gathering.work(flat("We"))))
    assert caught.value.code == "worker-crashed"
    until(lambda: not gathering.engines.ready)
    until(lambda: gathering.engines.ready)
    assert gathering.pids() != [pid] and gathering.restarts() == restarts + 1
    assert hung.get() == hung_before + 1
    assert len(finished(scores(gathering.engines, gathering.work(flat("We"))))) == 1


def test_a_pause_is_no_hang(gathering: Running, gate: Gate) -> None:
    """However long a batch waits for others."""
    restarts = gathering.restarts()

    async def ask() -> list[Sequence[Scored | None]]:
        main = gathering.engines.queue.engines[0].main
        asked = asyncio.ensure_future(scores(gathering.engines, gathering.work(flat(gate.word))))
        while not main.batch:
            await asyncio.sleep(0.001)
        main.cancellation.pause()
        await asyncio.sleep(5)  # longer than a child may hang
        gate.open()
        main.cancellation.resume()
        return await asked

    assert len(finished(ask())) == 1 and gathering.restarts() == restarts


def test_a_replacement_never_serves_files_that_were_changed(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has asked for these by a reload. When no engine can be started again, requests are
    refused at once, since nothing would ever take them from the queue."""
    monkeypatch.setattr("reranker.service.scheduling.engines._HOPELESS", 1)
    (path,) = save_models(tmp_path, 1)
    with running([path]) as made:
        Path(path).write_bytes(Path(models[1]).read_bytes())
        os.kill(made.pids()[0], signal.SIGKILL)
        until(lambda: made.engines.is_hopeless)
        with pytest.raises(RequestError, match="cannot be restarted") as caught:
            finished(asyncio.wait_for(scores(made.engines, made.work(flat("b"))), PATIENCE))
        assert (caught.value.status, caught.value.code) == (503, "worker-crashed")
        assert made.engines.queue.tokens == 0


def test_a_child_that_hangs_again_and_again_is_given_up(
    models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heart beats, but its computation makes no progress."""
    monkeypatch.setattr("reranker.service.scheduling.engines._HOPELESS", 2)
    with running(models, heartbeat_seconds=2) as made:
        for number in range(2):
            assert not made.engines.is_hopeless
            with pytest.raises(RequestError) as caught:
                finished(scores(made.engines, made.work(flat("hang"))))
            assert caught.value.code == "worker-crashed"
            if number == 0:
                until(lambda: made.engines.ready)
        until(lambda: made.engines.is_hopeless)
