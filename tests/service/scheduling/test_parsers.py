"""Sentences of many requests and a few parsers: turns, and how far ahead they are parsed; then the
real child: when its parser cannot be started, and at its end."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reranker.checkpoints.installed import BLLIP_FILE
from reranker.errors import RerankError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.running import parsed_list
from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.metrics import Metrics
from reranker.service.scheduling import parsers
from reranker.service.scheduling.parsers import AHEAD, Parsers
from reranker.service.settings import load_settings
from reranker.text.reading import Text, TextSentence
from tests.reranker.parsers.hanging import Hanging, has_ended
from tests.waiting import PATIENCE, finished

TOY = Path(__file__).parents[2] / "reranker" / "parsers" / "toy_parser.py"
COMMAND = shlex.join([sys.executable, str(TOY)])
SENTENCES = [TextSentence(Sentence.of(["We", "saw", "it", "."]), Origin("text", 1, "", ()))]


class Child:
    """A stand-in for the child that parses two sentences at a time, once the gate is open."""

    def __init__(self) -> None:
        self.process = self
        self.gate = threading.Event()
        self.parsed: list[str] = []
        self.lanes: list[int] = []

    def started(self) -> Child:
        return self

    def reply(self, _: None) -> Sequence[int]:
        return (2,)

    def replies(
        self, batch: Sequence[TextSentence], cancellation: Cancellation, lane: int
    ) -> Iterator[tuple[bool, list[NBest]]]:
        self.parsed.append(batch[0].sentence.words[0])
        self.lanes.append(lane)
        assert self.gate.wait(PATIENCE)
        yield True, [parsed_list(each, "flat", "TOP") for each in batch]

    def close(self) -> None:
        self.gate.set()


def with_child(jobs: int) -> tuple[Parsers, Child]:
    made, child = (
        Parsers(load_settings({"parser_jobs": jobs, "parser": ["bllip"]}), Metrics()),
        Child(),
    )
    made._child = child  # type: ignore[assignment]
    made.pool._children = [child]  # type: ignore[list-item]
    return made, child


def text(first: str, count: int) -> list[TextSentence]:
    return list(Text([TextInMemory(f"{first} is here.\n\n".encode() * count, "text")]))


async def lists_of(made: Parsers, sentences: Sequence[TextSentence], client: str) -> list[NBest]:
    lists: list[NBest] = []
    async for some in made.parse(sentences, client, time.monotonic() + PATIENCE):
        lists += some
    return lists


@pytest.mark.parametrize("jobs", [1, 3])
def test_lists_come_in_order(jobs: int) -> None:
    made, child = with_child(jobs)
    child.gate.set()
    sentences = [each for n in range(20) for each in text(f"word{n}", 1)]
    lists = finished(lists_of(made, sentences, "a"))
    made.pool.close()
    assert [nbest.id for nbest in lists] == [str(n) for n in range(20)]
    assert [nbest.words[0] for nbest in lists] == [f"word{n}" for n in range(20)]


def test_clients_take_turns() -> None:
    made, child = with_child(1)

    async def ask() -> None:
        huge = [
            asyncio.create_task(lists_of(made, text(f"huge{n}", 20), "greedy")) for n in range(3)
        ]
        while not child.parsed:
            await asyncio.sleep(0.001)
        tiny = asyncio.create_task(lists_of(made, text("tiny", 2), "kind"))
        while len(made._requests) < 4:
            await asyncio.sleep(0.001)
        child.gate.set()
        await asyncio.gather(tiny, *huge)

    finished(ask())
    made.pool.close()
    # One batch was under way, and the greedy one's requests take turns among themselves.
    assert child.parsed.index("tiny") < 3
    assert max(child.parsed.index(f"huge{n}") for n in range(3)) < 8


def test_only_so_much_is_parsed_ahead() -> None:
    made, child = with_child(2)
    child.gate.set()

    async def ask() -> None:
        groups = made.parse(text("it", 100), "a", time.monotonic() + PATIENCE)
        taken = len(await anext(groups))
        (request,) = made._requests
        while made.pool.count(True) or made.pool.count(False):
            await asyncio.sleep(0.001)
        assert len(child.parsed) * 2 <= request.given <= AHEAD
        async for lists in groups:
            assert request.given <= request.taken + AHEAD
            taken += len(lists)
        assert taken == 100

    finished(ask())
    made.pool.close()


def test_a_parser_that_is_loaded_is_used_before_others_are() -> None:
    made, child = with_child(3)
    child.gate.set()

    async def ask() -> None:
        for _ in range(8):
            await lists_of(made, text("it", 1), "a")
        assert set(child.lanes) == {0}
        child.gate.clear()
        slow = asyncio.create_task(lists_of(made, text("slow", 1), "a"))
        while "slow" not in child.parsed:
            await asyncio.sleep(0.001)
        following = asyncio.create_task(lists_of(made, text("next", 1), "a"))
        while "next" not in child.parsed:
            await asyncio.sleep(0.001)
        child.gate.set()
        await asyncio.gather(slow, following)
        assert len(set(child.lanes)) == 2

    finished(ask())
    made.pool.close()


# With the real child.


def real(**settings: Any) -> Parsers:
    return Parsers(load_settings({"parser_jobs": 1, **settings}), Metrics())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files; there is none for a cache."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    (tmp_path / "cache").touch()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


async def parsed(made: Parsers) -> int:
    """Return the number of trees for a sentence."""
    (nbest,) = await lists_of(made, SENTENCES, "client")
    return len(nbest.candidates)


async def ended(made: Parsers) -> None:
    """Wait until the child has been killed and has ended."""
    process = made._child.process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    while made._child.process is not None:
        await asyncio.sleep(0.01)


def test_a_parser_that_could_not_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexec {COMMAND}\n")
    program.chmod(0o700)

    async def refused(made: Parsers) -> RequestError:
        with pytest.raises(RequestError) as caught:
            await parsed(made)
        return caught.value

    async def live() -> None:
        made = real(parser_command=str(program))
        try:
            await made.start()
            assert await parsed(made) == 2
            await ended(made)
            program.rename(tmp_path / "away")
            monkeypatch.setattr(parsers, "_AGAIN_SECONDS", 3600)
            # Those that wait together are told together, and who comes soon after, at once.
            errors = await asyncio.gather(*(refused(made) for _ in range(3)))
            errors.append(await refused(made))
            assert {(error.status, error.code) for error in errors} == {(503, "parser-failed")}
            assert all(error.headers["Retry-After"] for error in errors)
            assert made.is_there
            (tmp_path / "away").rename(program)
            assert (await refused(made)).status == 503
            made._not_before = 0.0
            assert await parsed(made) == 2
        finally:
            made.pool.close()

    finished(live())


def test_who_hangs_up_while_it_starts_leaves_it_to_others() -> None:
    async def live() -> None:
        made = real(parser_command=COMMAND)
        try:
            first = asyncio.create_task(parsed(made))
            while made._child.process is None:
                await asyncio.sleep(0.01)
            first.cancel()
            assert await parsed(made) == 2
        finally:
            made.pool.close()

    finished(live())


def test_a_command_that_hangs_ends_with_the_child(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)

    async def live() -> None:
        made = real(parser_command=shlex.join(hanging.command))
        starting = asyncio.create_task(made.start())
        try:
            with await asyncio.to_thread(hanging.opened) as pipe:
                assert not has_ended(pipe, 0.2)
                await ended(made)
                assert has_ended(pipe, 60)
            with pytest.raises(RerankError):
                await starting
        finally:
            made.pool.close()

    finished(live())


def test_a_stopped_child_is_killed_and_replaced() -> None:
    async def live() -> None:
        made = real(parser_command=COMMAND, heartbeat_seconds=2)
        try:
            assert await parsed(made) == 2
            process = made._child.process
            assert process is not None
            os.kill(process.pid, signal.SIGSTOP)
            with pytest.raises(RequestError) as caught:
                await parsed(made)
            assert caught.value.code == "parser-crashed"
            assert await parsed(made) == 2
            assert made._metrics.hung_children.labels("parsing")._value.get() == 1
        finally:
            made.pool.close()

    finished(live())


@pytest.mark.parametrize("name", [BLLIP_FILE, "other"])
def test_nothing_temporary_is_left(tmp_path: Path, temporary: Path, name: str) -> None:
    """Not of a model that is unpacked and then cannot be loaded, nor of one that is none."""
    pytest.importorskip("bllipparser", reason="needs pip install 'parse-reranker[bllip]'")
    (tmp_path / name).write_text("nothing")
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / name, name)

    async def live() -> None:
        made = real(parser=["bllip"], parser_model=[str(tmp_path / "model.tar.gz")])
        try:
            with pytest.raises(RerankError):
                await made.start()
        finally:
            made.pool.close()

    finished(live())
    assert list(temporary.iterdir()) == []
