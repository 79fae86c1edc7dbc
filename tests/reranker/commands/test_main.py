"""What runs imports what it needs, and what is listed is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.latency.versions import imported
from reranker.commands.main import _SUBCOMMANDS, _command
from tests.service.servers import RERANK

ROOT = Path(__file__).resolve().parents[3]
GOLD = str(ROOT / "examples" / "gold.mrg")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("eval", [GOLD, GOLD]), ("convert", [GOLD, "--to", "berkeley"]), ("models", [])],
)
def test_only_the_command_that_runs_is_imported(name: str, arguments: list[str]) -> None:
    modules = imported([RERANK, name, *arguments])
    commands = {_command(each).__name__ for each in ("rerank", *_SUBCOMMANDS)}  # type: ignore[attr-defined]
    assert commands & modules == {_command(name).__name__}  # type: ignore[attr-defined]
    assert "torch" not in modules


def test_help_lists_every_command_and_says_what_it_does() -> None:
    done = subprocess.run([RERANK, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    listed = done.stdout.partition("other commands:\n")[2].splitlines()
    folder = ROOT / "reranker" / "commands"
    whole = {
        path.stem
        for path in folder.glob("*.py")
        if "\ndef run(" in (text := path.read_text("utf-8")) and "\nEXAMPLES = " in text
    }
    assert len(listed) == len(_SUBCOMMANDS) == len(whole - {"rerank"})
    for line, (name, description) in zip(listed, _SUBCOMMANDS.items(), strict=True):
        assert line.split() == ["rerank", name, "--help", *description.split()]
