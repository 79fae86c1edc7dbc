"""Completion scripts, tried in the shells that are installed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.waiting import PATIENCE

Capture = pytest.CaptureFixture[str]

BASH = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
compopt() {{ :; }}
_shtab_rerank
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# zsh completes in a terminal only; this rerank prints the completed command.
ZSH = """
PS1=; autoload -Uz compinit; compinit -D -u; fpath=({folder} $fpath); autoload -Uz _rerank
compdef _rerank rerank; rerank() {{ print -r -- "com""pleted: $*" }}
"""


def script(shell: str, path: Path, capsys: Capture) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"this machine has no {shell}")
    assert main(["completion", shell]) == 0
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


def answer(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


CASES = [
    ("rerank tu", {"tune"}),
    ("rerank tune --fo", {"--folds"}),
    ("rerank convert --to b", {"bllip", "berkeley"}),
    ("rerank analyse atten", {"attention", "attention-sample", "attention-example"}),
]


@pytest.mark.plugins
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash(words: str, expected: set[str], tmp_path: Path, capsys: Capture) -> None:
    path = script("bash", tmp_path / "rerank", capsys)
    found = answer("bash", "-c", BASH.format(script=path, words=words)).split()
    assert set(found) == expected


@pytest.mark.plugins
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish(words: str, expected: set[str], tmp_path: Path, capsys: Capture) -> None:
    path = script("fish", tmp_path / "rerank.fish", capsys)
    lines = answer("fish", "-c", f"source {path}; complete -C '{words}'").splitlines()
    assert {line.split("\t")[0] for line in lines} == expected


@pytest.mark.plugins
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rerank tu", "tune"),
        ("rerank tune --fo", "tune --folds"),
        ("rerank convert --to ber", "convert --to berkeley"),
        ("rerank --output ran", "--output ranked"),
    ],
)
def test_zsh(words: str, expected: str, tmp_path: Path, capsys: Capture) -> None:
    path = script("zsh", tmp_path / "_rerank", capsys)
    own_end, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.write(own_end, f"{ZSH.format(folder=path.parent)}{words}\t\n exit\n".encode())
    text = ""
    try:
        while f"completed: {expected}" not in text:
            ready, _, _ = select.select([own_end], [], [], PATIENCE)
            assert ready, text
            text += os.read(own_end, 1 << 16).decode(errors="replace")
    finally:
        shell.kill()
        shell.wait()
        os.close(own_end)


@pytest.mark.plugins
def test_files_are_completed_where_files_are_taken(tmp_path: Path, capsys: Capture) -> None:
    path = script("fish", tmp_path / "rerank.fish", capsys)
    (tmp_path / "parses.txt").touch()
    for words in ("rerank --nbest", "rerank show", "rerank tune", "rerank train --config"):
        code = f"source {path}; cd {tmp_path}; complete -C '{words} par'"
        assert "parses.txt" in answer("fish", "-c", code), words
