"""A line for a line, until the program dies or takes too long."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.parsers.program import Conversation, Ended, Unread
from tests.checkout import PLAIN_PYTHON
from tests.waiting import PATIENCE

PROGRAM = [*PLAIN_PYTHON, str(Path(__file__).with_name("talkative.py"))]


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    program = Conversation(PROGRAM)
    program.listen(PATIENCE)
    yield program
    program.end()


def test_a_line_for_a_line_however_long(conversation: Conversation) -> None:
    assert conversation.ask(b"abc\n", PATIENCE) == b"cba"
    assert conversation.ask(b"long\n", PATIENCE) == b"gnol" * 100_000
    assert conversation.ask(b"x" * 300_000 + b"\n", PATIENCE) == b"x" * 300_000


@pytest.mark.parametrize(
    "line, reason",
    [
        (b"die\n", "the parser ended with status 1: cannot go on"),
        (b"kill\n", "the parser was killed by signal 9: xxx"),
        (b"hang\n", "the parser took more than 0.5 s"),
    ],
)
def test_why_it_ended(conversation: Conversation, line: bytes, reason: str) -> None:
    with pytest.raises(Ended, match=reason):
        conversation.ask(line, 0.5 if b"hang" in line else PATIENCE)
    with pytest.raises(Ended):
        conversation.ask(b"more\n", PATIENCE)


def test_what_could_not_be_read_is_told_from_what_was() -> None:
    """The rest of an input that is more than a pipe holds is reported, too."""
    for first, more in ((b"die\n", b"more\n"), (b"", b"die\n" + b"x" * 300_000 + b"\n")):
        program = Conversation(PROGRAM)
        program.listen(PATIENCE)
        if first:
            with pytest.raises(Ended) as ended:
                program.ask(first, PATIENCE)
            assert not isinstance(ended.value, Unread)
        with pytest.raises(Unread, match="status 1: cannot go on"):
            program.ask(more, PATIENCE)


def test_who_waits_is_told_of_a_kill(conversation: Conversation) -> None:
    threading.Timer(0.3, conversation.kill).start()
    with pytest.raises(Ended, match="signal 9"):
        conversation.ask(b"hang\n", PATIENCE)


@pytest.fixture
def many_files() -> Iterator[None]:
    """Open so many files that new ones get numbers that ``select`` does not accept."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] != resource.RLIM_INFINITY and limits[1] < 1200:
        pytest.skip("this machine lets only so many files be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(1200, limits[0]), limits[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for file in opened:
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_beside_many_open_files(many_files: None, conversation: Conversation) -> None:
    assert conversation.ask(b"long\n", PATIENCE) == b"gnol" * 100_000
    with pytest.raises(Ended, match=r"more than 0\.1 s"):
        conversation.ask(b"hang\n", 0.1)


def test_no_such_program() -> None:
    with pytest.raises(InputError, match="/no/such: No such file"):
        Conversation(["/no/such"])
