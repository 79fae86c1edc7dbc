"""A line for a line, until the program dies or takes too long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.parsers.conversation import Conversation, Ended

PROGRAM = [sys.executable, str(Path(__file__).with_name("talkative.py"))]


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    program = Conversation(PROGRAM)
    program.listen(60)
    yield program
    program.end()


def test_a_line_for_a_line_however_long(conversation: Conversation) -> None:
    assert conversation.ask(b"abc\n", 60) == b"cba"
    assert conversation.ask(b"long\n", 60) == b"gnol" * 100_000
    assert conversation.ask(b"x" * 300_000 + b"\n", 60) == b"x" * 300_000


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
        conversation.ask(line, 0.5 if b"hang" in line else 60)
    with pytest.raises(Ended):
        conversation.ask(b"more\n", 60)


def test_who_waits_is_told_of_a_kill(conversation: Conversation) -> None:
    threading.Timer(0.3, conversation.kill).start()
    started = time.monotonic()
    with pytest.raises(Ended, match="signal 9"):
        conversation.ask(b"hang\n", 60)
    assert time.monotonic() - started < 50


def test_no_such_program() -> None:
    with pytest.raises(InputError, match="/no/such: No such file"):
        Conversation(["/no/such"])
