"""Parsers that die, hang and lose count."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from reranker.adaptation import parsing
from reranker.adaptation.parsing import Parser
from reranker.errors import InputError

COMMAND = shlex.join([sys.executable, str(Path(__file__).with_name("toy_parser.py"))])


def test_a_list_for_each_sentence() -> None:
    parser = Parser(COMMAND, 10)
    text, failed = parser.parse(["the cat runs", "it runs"])
    assert not failed
    assert [[*nbest.words] for nbest in parser.lists(text)] == [
        ["the", "cat", "runs"],
        ["it", "runs"],
    ]


def test_only_what_cannot_be_parsed_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_STARTING_SECONDS", 0.5)
    parser = Parser(COMMAND, 1)
    words = ["one", "crash", "two", "lose", "other", "three", "hang", "four"]
    text, failed = parser.parse([f"{word} more words" for word in words])
    assert [nbest.words[0] for nbest in parser.lists(text)] == ["one", "two", "three", "four"]
    assert sorted(failed) == [1, 3, 4, 6]
    assert failed[1] == "the parser ended with status 1: cannot parse: crash"
    assert "no n-best lists" in failed[3]
    assert failed[4].startswith("the parser changed the words: word 1 is 'something'")
    assert failed[6] == "the parser took more than 1 s"


@pytest.mark.parametrize(
    "command, message", [("", "no command"), ("'", "quotation"), ("/no/such", "No such file")]
)
def test_what_is_no_program(command: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--parser.*{message}"):
        Parser(command, 10).parse(["a b"])
