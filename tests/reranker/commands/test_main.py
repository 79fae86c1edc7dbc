"""The imports of commands, and the commands that help lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reranker import registry
from reranker.commands.main import command_names, load_command
from tests.checkout import RERANK

ROOT = Path(__file__).resolve().parents[3]
GOLD = str(ROOT / "examples" / "gold.mrg")


@pytest.mark.parametrize(
    ("name", "module", "arguments"),
    [
        ("eval", "evaluate", [GOLD, GOLD]),
        ("convert", "convert", [GOLD, "--to", "berkeley"]),
        ("models", "models", []),
    ],
)
def test_only_the_command_that_runs_is_imported(
    name: str, module: str, arguments: list[str]
) -> None:
    program = """if True:
        import sys
        from reranker.commands.main import main
        code = main(sys.argv[1:])
        print(*sys.modules, file=sys.stderr)
        sys.exit(code)
    """
    command = [sys.executable, "-c", program, name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = set(done.stderr.splitlines()[-1].split())
    commands = {each.__name__ for each in map(load_command, command_names())}
    assert commands & modules == {f"reranker.commands.{module}"}
    assert "torch" not in modules


def test_help_lists_every_command_and_says_what_it_does() -> None:
    done = subprocess.run([RERANK, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    head, _, tail = done.stdout.partition("commands, most used first:\n")
    listed = tail.partition("\n\n")[0].splitlines()
    assert len(head.splitlines()) == 3  # the usage
    whole = {
        path
        for folder in ("commands", "plugins")
        for path in (ROOT / "reranker" / folder).rglob("*.py")
        if "\ndef run(" in (text := path.read_text("utf-8")) and "\nEXAMPLES = " in text
    }
    entries = registry.built_in("commands")
    assert len(listed) == len(entries) == len(whole) - 1  # without rerank itself
    for line, (name, entry) in zip(listed, entries.items(), strict=True):
        assert line.split() == [name, *entry.help.split()] and len(line) <= 80
