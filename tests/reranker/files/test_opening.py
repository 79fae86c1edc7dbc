"""Anything but a file is refused before it is read, by every command and from Python."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.files.opening import expanded, open_file, read_text
from reranker.files.text import open_text, read_lines
from tests.reranker.small_files import write

TREE = "(S1 (S (NP (PRP It)) (VP (VBZ runs))))"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Yield things that would hang or never end, with the message about each."""
    monkeypatch.chdir(tmp_path)  # the name of a socket has at most some hundred bytes
    os.mkfifo("pipe")
    with open("hole", "wb") as file:
        file.truncate(1 << 40)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        yield {
            "pipe": "it is a named pipe",
            "/dev/zero": "it is a device",
            "socket": "it is a socket",
            "hole": "it has 1,099,511,627,776 bytes|a hole|binary data",
        }


def test_nothing_but_a_file_is_opened(things: dict[str, str]) -> None:
    for name, reason in things.items():
        with pytest.raises(OSError, match=reason):
            read_text(name)
        if name != "hole":
            with pytest.raises(OSError, match=reason):
                open_file(name)


def test_a_shell_s_pipe_is_read(tmp_path: Path) -> None:
    """The pipe of <(...) has the name /dev/fd/63."""
    reading, writing = os.pipe()
    os.write(writing, b"text\n")
    os.close(writing)
    assert read_text(f"/dev/fd/{reading}") == "text\n"
    os.close(reading)
    assert read_text(os.devnull) == ""


def test_of_a_pipe_no_more_is_read_than_asked_for() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"12345")
    with pytest.raises(OSError, match="5 bytes, more than 4"):
        read_text(f"/dev/fd/{reading}", most=4)
    os.close(reading)
    os.close(writing)


@pytest.mark.plugins
def test_commands_refuse_at_once_what_they_read_whole(
    things: dict[str, str], tmp_path: Path, capsys: Capture
) -> None:
    """A command that waited or read on would run into the time limit of tests."""
    trees = write(tmp_path / "t.mrg", f"{TREE}\n")
    train = ["--train", trees, "--dev", trees, "--out", "out.pt"]
    commands = [
        ["--nbest", trees, "--models"],
        ["--nbest", trees, "--tokens"],
        ["--nbest", trees, "--gold"],
        ["eval", trees],
        ["eval", trees, trees, "--parameters"],
        ["compare", trees, trees],
        ["show", trees, "--gold"],
        ["train", *train, "--config"],
    ]
    for command in commands:
        for name, reason in things.items():
            assert main([*command, name]) == 2, (command, name)
            error = capsys.readouterr().err
            assert f"{name}: " in error
            assert re.search(reason, error), (command, error)


def test_a_hole_in_a_text_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("It runs.\n")
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    lines = read_lines(path)
    assert next(lines) == "It runs.\n"
    with pytest.raises(Exception, match=r"line 1: .*NUL"):
        next(lines)
    with open_text(path) as text:
        assert list(text.pieces(8)) == ["It runs.", "\n"]
        assert text.damage == "a hole: nothing but NUL bytes"


def test_patterns_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    a, b, odd = (write(tmp_path / name, "") for name in ("d/b", "a", "[b]"))
    assert expanded(["-", "none", f"{tmp_path}/?", f"{tmp_path}/**/b"]) == [
        "-", "none", b, str(tmp_path / "d"), a,
    ]  # fmt: skip
    assert expanded([tmp_path / "[b]"]) == [odd]  # a file, whatever it looks like
    with pytest.raises(InputError, match=r"c\*: no file matches"):
        expanded([f"{tmp_path}/c*"])
