"""A lane of the parsing child: failures, cancelling, and what clients are told."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions
from reranker.nbest.data import Sentence
from reranker.parsers import command
from reranker.parsers.answers import printed_lists
from reranker.parsers.in_process import OneTreeParser
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.process.cancellation import Stopped
from reranker.service.children.child import Request
from reranker.service.children.parsing_main import ParsingLane
from reranker.service.children.reasons import BROKEN, UNSAID
from reranker.service.errors import RequestError
from reranker.service.settings import load_settings
from reranker.text.reading import Text
from reranker.trees.tree import Tree
from tests.reranker.parsers.time_limits import impatient
from tests.waiting import PATIENCE, until

TOY = Path(__file__).parents[2] / "reranker" / "parsers" / "toy_parser.py"
PROGRAM = shlex.join([sys.executable, str(TOY)])

# Starts at once; some words end it.
QUICK = shlex.join(
    [
        "sh",
        "-c",
        "while read -r line; do case $line in *crash*) exit 1;; esac; set -- $line; "
        "printf '%s' '-1 (S1 (S'; printf ' (NN %s)' \"$@\"; printf '))\\n\\n'; done",
    ]
)


class Flat:
    """A parser in this process, with a flat tree for each sentence; ``gate`` lets it go on."""

    batch_sizes: Sequence[int] = (2,)

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.is_asked = threading.Event()
        self.is_stopped = False

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        self.is_asked.set()
        while not self.gate.wait(0.01):
            if self.is_stopped:
                raise Stopped
        if any("raise" in sentence.words for sentence in sentences):
            raise ValueError("odd")
        if any("broken" in sentence.words for sentence in sentences):
            raise InputError("does not work")
        lists = "".join(f"-1 {sentence.flat_tree()}\n\n" for sentence in sentences).encode()
        answer = printed_lists(lists, sentences, ReadOptions("berkeley"))
        assert not isinstance(answer, str)
        return answer

    def stop(self) -> None:
        self.is_stopped = True


class Asked:
    """A lane and the messages that it has sent for the log."""

    def __init__(self, make: Callable[[], Parser], **settings: Any) -> None:
        self.made: list[Any] = []
        self.faults: list[dict[str, str]] = []

        def parser() -> Parser:
            self.made.append(make())
            return self.made[-1]  # type: ignore[no-any-return]

        self._lane = ParsingLane(load_settings(settings), parser)

    def request(self, text: str | None) -> Request:
        given = None if text is None else list(Text([TextInMemory(text.encode(), "text")]))

        def send(_: str, __: int, faults: list[dict[str, str]]) -> None:
            self.faults += faults

        return Request(1, given, send)

    def lists(self, text: str) -> list[NBest]:
        lists = self._lane.serve(self.request(text))
        return [nbest for nbest in lists if isinstance(nbest, NBest)]

    def try_out(self) -> None:
        self._lane.serve(self.request(None))

    def begin(self, text: str) -> tuple[Request, threading.Thread, list[object]]:
        """Have a text parsed in a thread; what comes of it is in the list."""
        request, outcome = self.request(text), list[object]()

        def run() -> None:
            try:
                outcome.append(self._lane.serve(request))
            except Stopped as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: self.made and self.made[-1].is_asked.is_set())
        return request, thread, outcome


@pytest.fixture(autouse=True)
def nothing_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ParsingLane, "has_parsed", False)


class CalledLate:
    """A stand-in for ``threading.Timer`` that calls its function on command."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []
        self.daemon = False

    def __call__(self, _: float, function: Callable[[], object]) -> CalledLate:
        self._calls.append(function)
        return self

    def start(self) -> None:
        pass

    def call(self) -> None:
        assert self._calls
        for call in self._calls:
            call()


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> CalledLate:
    made = CalledLate()
    monkeypatch.setattr("reranker.service.children.parsing_main.threading.Timer", made)
    return made


def test_who_hangs_up_stops_the_parser(late: CalledLate) -> None:
    asked = Asked(Flat)
    asked.try_out()
    asked.made[0].gate.clear()
    asked.made[0].is_asked.clear()
    request, thread, outcome = asked.begin("hang")
    request.cancel()
    late.call()
    thread.join(PATIENCE)
    assert isinstance(outcome[0], Stopped) and asked.made[0].is_stopped
    assert asked.lists("next")[0].candidates and len(asked.made) == 2


def test_a_parser_that_finishes_soon_is_kept(late: CalledLate) -> None:
    asked = Asked(Flat)
    asked.try_out()
    asked.made[0].gate.clear()
    asked.made[0].is_asked.clear()
    request, thread, _ = asked.begin("slow")
    request.cancel()
    asked.made[0].gate.set()
    thread.join(PATIENCE)
    late.call()
    assert asked.lists("next")[0].candidates
    assert not asked.made[0].is_stopped and len(asked.made) == 1


def test_one_that_hangs_or_dies_costs_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real program: ``hang`` sleeps for a minute, ``crash`` ends it."""
    monkeypatch.setattr(command, "exchange", impatient)
    settings = ParserSettings(command=PROGRAM, seconds=PATIENCE)
    asked = Asked(lambda: create_parser("command", settings))
    lists = asked.lists("We hang here.\n\nIt is.\n\nWe crash here.\n\nIt was.")
    assert [bool(nbest.candidates) for nbest in lists] == [False, True, False, True]
    assert [nbest.rejected[0].message for nbest in (lists[0], lists[2])] == [
        "the parser took more than 0.2 s",
        "the parser ended with status 1",
    ]
    assert lists[0].fallback == "(TOP (S (XX We) (XX hang) (XX here) (XX .)))"


def test_a_parser_that_has_never_worked_fails_the_request() -> None:
    asked = Asked(Flat)
    with pytest.raises(RequestError) as caught:
        asked.lists("broken it is")
    assert (caught.value.status, caught.value.code) == (503, "parser-failed")
    assert caught.value.message == BROKEN
    (line,) = asked.faults
    assert line["error"] == "InputError" and "message" not in line
    # Once it has, such a sentence is one that cannot be parsed, and the others can be.
    lists = asked.lists("it is\n\nit was\n\nbroken it is\n\nit was")
    assert [bool(nbest.candidates) for nbest in lists] == [True, True, False, True]
    assert lists[2].rejected[0].message == BROKEN


def test_a_parser_that_raises_is_made_again() -> None:
    asked = Asked(Flat, log_text=True)
    lists = asked.lists("raise it\n\nit is\n\nit was")
    assert [bool(nbest.candidates) for nbest in lists] == [False, True, True]
    assert len(asked.made) == 3 and asked.made[0].is_stopped and asked.made[1].is_stopped
    assert asked.faults[0]["message"] == "odd"


def test_a_parser_that_cannot_be_made() -> None:
    def make() -> Parser:
        raise InputError("no model")

    asked = Asked(make)
    with pytest.raises(InputError, match="no model"):
        asked.try_out()
    with pytest.raises(RequestError, match=BROKEN):
        asked.lists("it is")


def test_one_that_parses_nothing_does_not_count_as_one_that_works() -> None:
    asked = Asked(lambda: create_parser("command", ParserSettings(command="false")))
    with pytest.raises(InputError, match=r"'It runs \.': the parser ended with status 1"):
        asked.try_out()


@pytest.mark.parametrize("has_parsed", [True, False])
def test_bad_sentences_of_one_client_cost_another_none(has_parsed: bool) -> None:
    """A parser gives up after twenty in a row, whoever sent them."""
    asked = Asked(lambda: create_parser("command", ParserSettings(command=QUICK)))
    if has_parsed:
        asked.try_out()
    asked.lists("we crash here.\n\n" * 19)
    lists = asked.lists("we crash\n\nit is\n\nit was\n\nwe saw")
    assert [bool(nbest.candidates) for nbest in lists] == [False, True, True, True]
    assert lists[0].rejected[0].message == "the parser ended with status 1"


class Library(OneTreeParser):
    """A parser like benepar's: a flat tree, once the gate is open; some words make it raise."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.is_asked = threading.Event()
        super().__init__("benepar", self._flat)

    def _flat(self, given: Sequence[Sentence]) -> list[Tree]:
        self.is_asked.set()
        assert self.gate.wait(PATIENCE)
        if any("raise" in sentence.words for sentence in given):
            raise OSError("[Errno 2] No such file or directory: '/models/secret'")
        return [Tree.from_string(sentence.flat_tree()) for sentence in given]


def test_a_parser_in_this_process_is_not_loaded_again(late: CalledLate) -> None:
    asked = Asked(Library, parser=["benepar"])
    request, thread, _ = asked.begin("it is")
    request.cancel()
    late.call()
    asked.made[0].gate.set()
    thread.join(PATIENCE)
    assert asked.lists("it was")[0].candidates
    assert len(asked.made) == 1


@pytest.mark.parametrize("log_text", [False, True])
def test_clients_are_not_told_what_a_library_raised(log_text: bool) -> None:
    def make() -> Library:
        parser = Library()
        parser.gate.set()
        return parser

    asked = Asked(make, parser=["benepar"], log_text=log_text)
    _, raised, long = asked.lists("it is\n\nwe raise\n\n" + "a " * 300)
    assert raised.rejected[0].message == UNSAID
    assert "300 words, more than" in long.rejected[0].message  # it is we who say so
    (line,) = asked.faults
    assert line["error"] == "OSError" and ("/models/secret" in str(line)) is log_text


def test_trees_of_too_many_tokens_are_rejected() -> None:
    asked = Asked(Flat, max_tree_tokens=7)
    short, long = asked.lists("a b c d\n\na b c d e")  # (S, words, )S, <eos>
    assert len(short.candidates) == 1 and not long.candidates
    assert long.rejected[0].code == "too-long"
    assert "max_tree_tokens = 7" in long.rejected[0].message
