"""The terminal while a command works."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, write

COMMAND = [sys.executable, "-m", "reranker.commands.main"]


def on_terminal(*arguments: str, output: int | None = None, given: str = "") -> list[str]:
    """Return the text that the command prints on a terminal, cut at line breaks and carriage
    returns."""
    terminal, other_end = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=output or other_end, stderr=other_end
    ) as process:
        os.close(other_end)
        assert process.stdin is not None
        process.stdin.write(given.encode())
        process.stdin.close()
        shown = b""
        try:
            while block := os.read(terminal, 1 << 16):
                shown += block
        except OSError:  # the process has ended
            pass
    os.close(terminal)
    assert process.returncode in (0, 1), shown
    return [text for text in re.split(r"[\r\n]|\x1b\[K", shown.decode()) if text.strip()]


def test_a_bar_that_ends_at_100_percent(tmp_path: Path, models: list[str]) -> None:
    broken = CANDIDATES[0][:-1]
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 300, [broken, *CANDIDATES]) + "\n" * 9)
    shown = on_terminal("--nbest", file, "--models", *models, "--out", str(tmp_path / "out"))
    assert shown[:2] == [f"rerank: {file}: format bllip", "loading 2 models "]
    bars = [re.match(r" *(\d+) % \|.*\| (\d+) sentences?, .*left", text) for text in shown]
    states = [(int(bar[1]), int(bar[2])) for bar in bars if bar]
    assert states[0] == (0, 0) and states[-1] == (100, 301)
    assert states == sorted(states)
    assert any(share == pytest.approx(50, abs=2) and count == 150 for share, count in states)
    (rejected,) = [number for number, text in enumerate(shown) if "rejected, unbalanced" in text]
    assert bars[rejected - 1] and bars[rejected + 1]  # above the bar, which is drawn again
    assert shown[-1].startswith("rerank: 301 sentences, 1806 candidates ranked, 1 rejected")


def test_pipes_have_a_rate_and_trees_on_the_terminal_stand_above_it(models: list[str]) -> None:
    lists = bllip(*[CANDIDATES] * 3)
    shown = on_terminal("--nbest", "-", "--models", *models, given=lists)
    trees = [text for text in shown if text in CANDIDATES]
    assert len(trees) == 3
    assert "0 sentences, 00:00" in shown
    assert re.fullmatch(r"3 sentences, [0-9.]+/s, \d\d:\d\d", shown[-2])
    assert shown.index(trees[-1]) < len(shown) - 2
