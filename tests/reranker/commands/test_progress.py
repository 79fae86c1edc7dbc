"""The terminal while a command works."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import re
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reranker.commands.main import main
from reranker.commands.progress import MessageHandler, ProgressBar
from reranker.work.loop import Source
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, piped_input, write


def on_terminal(*arguments: str, given: str = "") -> list[str]:
    """Return the text that the command prints on a terminal, cut at line breaks and carriage
    returns."""
    shown = bytes_on_terminal(*arguments, given=given)
    return [text for text in re.split(r"[\r\n]|\x1b\[K", shown) if text.strip()]


def bytes_on_terminal(*arguments: str, given: str = "") -> str:
    """Return everything that the command prints on a terminal."""
    terminal, other_end = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))

    def read() -> bytes:
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while block := os.read(terminal, 1 << 16):
                shown += block
        return shown

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(read)
        with (
            open(other_end, "w", buffering=1) as screen,
            contextlib.redirect_stdout(screen),
            contextlib.redirect_stderr(screen),
            piped_input(given),
        ):
            status = main(arguments)
        shown = reading.result()
    os.close(terminal)
    assert status in (0, 1), shown
    return shown.decode()


def test_a_bar_that_ends_at_100_percent(tmp_path: Path, models: list[str]) -> None:
    broken = CANDIDATES[0][:-1]
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 300, [broken, *CANDIDATES]) + "\n" * 9)
    shown = on_terminal("--nbest", file, "--models", *models, "--out", str(tmp_path / "out"))
    assert shown[:2] == [f"rerank: {file}: format bllip", "loading 2 models "]
    bars = [re.match(r" *(\d+)% \|.*\| (\d+) sentences?, ", text) for text in shown]
    states = [(int(bar[1]), int(bar[2])) for bar in bars if bar]
    assert states[0] == (0, 0) and states[-1] == (100, 301)
    assert states == sorted(states)
    assert any(share == pytest.approx(50, abs=2) and count == 150 for share, count in states)
    (rejected,) = [number for number, text in enumerate(shown) if "rejected, unbalanced" in text]
    assert bars[rejected - 1] and bars[rejected + 1]  # above the bar, which is drawn again
    assert shown[-1].startswith("rerank: reranking changed ") and shown[-1].endswith(
        " of 301 trees; 1806 candidates ranked, 1 rejected"
    )
    assert shown[-2].endswith(", 00:00 left")


def test_pipes_have_a_rate_and_trees_on_the_terminal_stand_above_it(models: list[str]) -> None:
    lists = bllip(*[CANDIDATES] * 3)
    shown = on_terminal("--nbest", "-", "--models", *models, given=lists)
    trees = [text for text in shown if text in CANDIDATES]
    assert len(trees) == 3
    assert "0 sentences, 00:00" in shown
    assert re.fullmatch(r"3 sentences, [0-9.]+/s, \d\d:\d\d", shown[-2])
    assert shown.index(trees[-1]) < len(shown) - 2


def left_on_terminal(printed: str) -> list[str]:
    """Return the lines of a terminal after this has been printed."""
    lines = []
    for line in printed.replace("\r\n", "\n").split("\n"):
        left = ""
        for part in line.split("\r"):
            left = part.removeprefix("\x1b[K") if part[:3] == "\x1b[K" else part + left[len(part) :]
        lines.append(left.rstrip())
    return [line for line in lines if line]


def test_one_sentence_leaves_nothing_but_its_tree() -> None:
    (line,) = left_on_terminal(bytes_on_terminal("parse", "-", given="They served coffee.\n"))
    assert line.startswith("(TOP (S (NP (PRP They)) (VP (VBD served)")


class Reader(Source[Any]):
    """A source of lists of 100 bytes, of which ``at_a_time`` are read at once."""

    def __init__(self, lists: int, at_a_time: int) -> None:
        super().__init__(self._read(lists, at_a_time))
        self._size, self._position = 100 * lists, 0

    @property
    def size(self) -> int:
        return self._size

    @property
    def position(self) -> int:
        return self._position

    def _read(self, lists: int, at_a_time: int) -> Iterator[int]:
        for number in range(lists):
            batches = number // at_a_time + 1
            self._position = min(100 * lists, 100 * at_a_time * batches)
            yield number


@pytest.mark.parametrize("at_a_time", [1, 10])
@pytest.mark.parametrize("written", [0, 25])
def test_the_time_left_counts_sentences(
    at_a_time: int, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reranker.commands.progress._is_terminal", lambda: True)
    reader = Reader(100, at_a_time)
    bar = ProgressBar(reader)
    lists = bar.read(reader)
    for _ in range(written):  # by the run that this one resumes
        next(lists)
        bar.finish_sentence()
    bar.start()
    assert bar.seconds_left(1.0) is None  # nothing is known of this run's rate
    for done in range(1, 76 - written):
        for _ in range(10 if done == 1 else 1):  # some are read before the first is finished
            next(lists)
        bar.finish_sentence()
        seconds = bar.seconds_left(2.0 * done)
        if written or done > 1:
            assert seconds == pytest.approx(2 * (100 - written - done))
    bar.close()


def test_the_time_left_of_a_small_file_is_known_once_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reranker.commands.progress._is_terminal", lambda: True)
    reader = Reader(4, 10)
    bar = ProgressBar(reader)
    lists = bar.read(reader)
    next(lists)
    bar.finish_sentence()
    assert bar.seconds_left(5.0) is None
    assert len(list(lists)) == 3
    assert bar.seconds_left(5.0) == 15


def test_other_packages_are_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    handler = MessageHandler()
    for name, level in (("matplotlib.font_manager", 20), ("matplotlib", 30), ("reranker.x", 20)):
        handler.emit(logging.LogRecord(name, level, "", 0, f"{name} speaks", (), None))
    assert capsys.readouterr().err == "matplotlib speaks\nreranker.x speaks\n"
