"""The process in which texts are parsed: when its parser cannot be started, and at its end."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reranker.checkpoints.installed import BLLIP_FILE
from reranker.errors import RerankError
from reranker.nbest.data import Origin, Sentence
from reranker.service.children import parsing as parsing_process
from reranker.service.children.parsing import ParsingProcess
from reranker.service.errors import ServiceError
from reranker.service.metrics import Metrics
from reranker.service.settings import load_settings
from reranker.text.reading import TextSentence
from tests.reranker.parsers.hanging import Hanging, has_ended
from tests.waiting import PATIENCE

TOY = Path(__file__).parents[2] / "reranker" / "parsers" / "toy_parser.py"
SENTENCES = [TextSentence(Sentence.of(["We", "saw", "it", "."]), Origin("text", 1, "", ()))]


def made(**settings: Any) -> ParsingProcess:
    return ParsingProcess(load_settings(settings), Metrics())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files; there is none for a cache."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    (tmp_path / "cache").touch()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder


async def parsed(process: ParsingProcess) -> int:
    """The number of trees for a sentence."""
    async with process.parse(SENTENCES, "client", time.monotonic() + PATIENCE) as parse:
        (nbest,) = await parse.lists()
        return len(nbest.candidates)


async def ended(process: ParsingProcess) -> None:
    """Once it has been killed."""
    running = process._beside.running
    assert running is not None
    os.kill(running.process.pid, signal.SIGKILL)
    while process._running is not None:
        await asyncio.sleep(0.01)


def test_a_parser_that_could_not_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, str(TOY)])}\n")
    program.chmod(0o700)

    async def refused(process: ParsingProcess) -> ServiceError:
        with pytest.raises(ServiceError) as caught:
            await parsed(process)
        return caught.value

    async def live() -> None:
        process = made(parser_command=str(program), parser_jobs=1)
        try:
            await process.start()
            assert await parsed(process) == 2
            await ended(process)
            program.rename(tmp_path / "away")
            monkeypatch.setattr(parsing_process, "_AGAIN_SECONDS", 3600)
            # Those that wait together are told together, and who comes soon after, at once.
            errors = await asyncio.gather(*(refused(process) for _ in range(3)))
            errors.append(await refused(process))
            assert {(error.status, error.code) for error in errors} == {(503, "parser-failed")}
            assert all(error.headers["Retry-After"] for error in errors)
            assert process.is_there
            (tmp_path / "away").rename(program)
            assert (await refused(process)).status == 503
            process._not_before = 0.0
            assert await parsed(process) == 2
        finally:
            process.close()

    asyncio.run(live())


def test_who_hangs_up_while_it_starts_leaves_it_to_others() -> None:
    async def live() -> None:
        process = made(parser_command=shlex.join([sys.executable, str(TOY)]), parser_jobs=1)
        try:
            first = asyncio.create_task(parsed(process))
            while process._running is None:
                await asyncio.sleep(0.01)
            first.cancel()
            assert await parsed(process) == 2
        finally:
            process.close()

    asyncio.run(live())


def test_a_command_that_hangs_ends_with_the_process(tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)

    async def live() -> None:
        process = made(parser_command=shlex.join(hanging.command), parser_jobs=1)
        starting = asyncio.create_task(process.start())
        try:
            with await asyncio.to_thread(hanging.opened) as pipe:
                assert not has_ended(pipe, 0.2)
                await ended(process)
                assert has_ended(pipe, 60)
            with pytest.raises(RerankError):
                await starting
        finally:
            process.close()

    asyncio.run(live())


def test_a_parser_that_parses_nothing_does_not_start() -> None:
    async def live() -> None:
        process = made(parser_command="false", parser_jobs=1)
        try:
            with pytest.raises(RerankError, match="the parser ended with status 1"):
                await process.start()
        finally:
            process.close()

    asyncio.run(live())


@pytest.mark.parametrize("name", [BLLIP_FILE, "other"])
def test_nothing_temporary_is_left(tmp_path: Path, temporary: Path, name: str) -> None:
    """Not of a model that is unpacked and then cannot be loaded, nor of one that is none."""
    pytest.importorskip("bllipparser", reason="needs pip install 'parse-reranker[bllip]'")
    (tmp_path / name).write_text("nothing")
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / name, name)

    async def live() -> None:
        process = made(
            parser=["bllip"], parser_model=[str(tmp_path / "model.tar.gz")], parser_jobs=1
        )
        try:
            with pytest.raises(RerankError):
                await process.start()
        finally:
            process.close()

    asyncio.run(live())
    assert list(temporary.iterdir()) == []
