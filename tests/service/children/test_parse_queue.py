"""Sentences of many requests and a few parsers: turns, failures, cancelling."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from reranker.service.children.parse_queue import AHEAD, NOBODY, ParseQueue, ParseWork, Reply
from reranker.service.children.reasons import BROKEN, UNSAID
from reranker.service.settings import load_settings
from reranker.text.reading import Text
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
        self.parsed: list[str] = []
        self.is_stopped = False

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        self.parsed.append(sentences[0].words[0])
        while not self.gate.wait(0.01):
            if self.is_stopped:
                raise Stopped
        if "raise" in sentences[0].words:
            raise ValueError("odd")
        if "broken" in sentences[0].words:
            raise InputError("does not work")
        lists = "".join(f"-1 {sentence.flat_tree()}\n\n" for sentence in sentences).encode()
        found = printed_lists(lists, sentences, ReadOptions("berkeley"))
        assert not isinstance(found, str)
        return found

    def stop(self) -> None:
        self.is_stopped = True


class Replies:
    """What a queue sends, by request."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._found: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)

    def __call__(self, reply: Reply) -> None:
        number, kind, value = reply
        with self._changed:
            self._found[number].append((kind, value))
            self._changed.notify_all()

    def of(self, number: int, count: int) -> list[tuple[str, Any]]:
        """The first so many, waited for."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._found[number]) >= count, PATIENCE)
            return self._found[number][:count]

    def lists(self, number: int, count: int) -> list[NBest]:
        return [value[0] for kind, value in self.of(number, count) if kind == "list"]

    def now(self, number: int) -> int:
        return len(self._found[number])


class CalledLate:
    """In place of ``threading.Timer``: what was to be called after some time, when a test says."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []
        self.daemon = False

    def __call__(self, _: float, function: Callable[..., object], arguments: Any) -> CalledLate:
        self._calls.append(partial(function, *arguments))
        return self

    def start(self) -> None:
        pass

    def call(self) -> None:
        assert self._calls
        for call in self._calls:
            call()


def work(number: int, text: str, client: str = "a") -> ParseWork:
    file = TextInMemory(text.encode(), "text")
    return ParseWork(number, client, list(Text([file])))


def sentences(first: str, count: int) -> str:
    return f"{first} is here.\n\n" * count


Made = Callable[..., tuple[ParseQueue, Replies]]


@pytest.fixture
def made() -> Iterator[Made]:
    queues = []

    def make(
        parser: Callable[[], Parser], jobs: int = 1, /, **settings: Any
    ) -> tuple[ParseQueue, Replies]:
        replies = Replies()
        queue = ParseQueue(load_settings({"parser_jobs": jobs, **settings}), parser, replies)
        queues.append(queue)
        return queue, replies

    yield make
    for queue in queues:
        queue.close()


@pytest.mark.parametrize("jobs", [1, 3])
def test_lists_come_in_order(made: Made, jobs: int) -> None:
    queue, replies = made(Flat, jobs)
    queue.add(work(1, "".join(f"word{n} is here.\n\n" for n in range(20))))
    lists = replies.lists(1, 20)
    assert [nbest.id for nbest in lists] == [str(n) for n in range(20)]
    assert [nbest.words[0] for nbest in lists] == [f"word{n}" for n in range(20)]


def test_clients_take_turns(made: Made) -> None:
    parser = Flat()
    parser.gate.clear()
    queue, replies = made(lambda: parser)
    for number in (1, 2, 3):
        queue.add(work(number, sentences(f"huge{number}", 20), "greedy"))
    until(lambda: parser.parsed)
    queue.add(work(4, sentences("tiny", 2), "kind"))
    parser.gate.set()
    replies.lists(4, 2)
    # One batch was under way.
    assert parser.parsed.index("tiny") < 4
    # The greedy one's requests take turns among themselves.
    for number in (1, 2, 3):
        replies.lists(number, 20)
    firsts = [parser.parsed.index(f"huge{number}") for number in (1, 2, 3)]
    assert max(firsts) < 8


def test_only_so_much_is_parsed_ahead(made: Made) -> None:
    queue, replies = made(Flat, 2)
    queue.add(work(1, sentences("it", 100)))
    replies.lists(1, AHEAD)
    time.sleep(0.3)
    assert replies.now(1) == AHEAD
    queue.scored(1, 10)
    replies.lists(1, AHEAD + 10)
    queue.scored(1, 100)
    assert len(replies.lists(1, 100)) == 100


def test_who_hangs_up_stops_the_parser(made: Made) -> None:
    parsers: list[Flat] = []

    def make() -> Flat:
        parsers.append(Flat())
        parsers[0].gate.clear()
        return parsers[-1]

    queue, replies = made(make)
    queue.add(work(1, sentences("hang", 5)))
    until(lambda: parsers and parsers[0].parsed)
    queue.add(work(2, sentences("next", 1)))
    queue.cancel(1)
    assert [nbest.words[0] for nbest in replies.lists(2, 1)] == ["next"]
    assert parsers[0].is_stopped and len(parsers) == 2
    assert replies.now(1) == 0


def test_a_parser_that_finishes_soon_is_kept(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    late = CalledLate()
    monkeypatch.setattr(threading, "Timer", late)
    parser = Flat()
    parser.gate.clear()
    queue, replies = made(lambda: parser)
    queue.add(work(1, sentences("slow", 5)))
    until(lambda: parser.parsed)
    queue.cancel(1)
    parser.gate.set()
    queue.add(work(2, sentences("next", 1)))
    replies.lists(2, 1)
    late.call()
    assert not parser.is_stopped


def test_one_that_hangs_or_dies_costs_a_sentence(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real program: ``hang`` sleeps for a minute, ``crash`` ends it."""
    monkeypatch.setattr(command, "exchange", impatient)
    settings = ParserSettings(command=PROGRAM, seconds=PATIENCE)
    queue, replies = made(lambda: create_parser("command", settings))
    queue.add(work(1, "We hang here.\n\nIt is.\n\nWe crash here.\n\nIt was."))
    found = replies.lists(1, 4)
    assert [bool(nbest.candidates) for nbest in found] == [False, True, False, True]
    assert [nbest.rejected[0].message for nbest in (found[0], found[2])] == [
        "the parser took more than 0.2 s",
        "the parser ended with status 1",
    ]
    assert found[0].fallback == "(TOP (S (XX We) (XX hang) (XX here) (XX .)))"


def test_a_parser_that_has_never_worked_fails_the_request(made: Made) -> None:
    queue, replies = made(Flat)
    queue.add(work(1, "broken it is"))
    assert replies.of(1, 1)[0] == ("refused", (503, "parser-failed", BROKEN, None))
    ((kind, value),) = replies.of(NOBODY, 1)
    assert kind == "log" and value["error"] == "InputError" and "message" not in value
    # Once it has, such a sentence is one that cannot be parsed, and the other in its batch can be.
    queue.add(work(2, "it is\n\nit was\n\nbroken it is\n\nit was"))
    found = replies.lists(2, 4)
    assert [bool(nbest.candidates) for nbest in found] == [True, True, False, True]
    assert found[2].rejected[0].message == BROKEN


def test_a_parser_that_raises_is_made_anew(made: Made) -> None:
    parsers: list[Flat] = []

    def make() -> Flat:
        parsers.append(Flat())
        return parsers[-1]

    queue, replies = made(make, log_text=True)
    queue.add(work(1, "raise it\n\nit is\n\nit was"))
    found = replies.lists(1, 3)
    assert [bool(nbest.candidates) for nbest in found] == [False, True, True]
    assert len(parsers) == 3 and parsers[0].is_stopped and parsers[1].is_stopped
    assert replies.of(NOBODY, 1)[0][1]["message"] == "odd"


def test_a_parser_that_is_loaded_is_used_before_others_are(made: Made) -> None:
    parsers: list[Flat] = []

    def make() -> Flat:
        parsers.append(Flat())
        return parsers[-1]

    queue, replies = made(make, 3)
    queue.try_parser(Sentence.of(("It", "runs", ".")))
    for number in range(1, 9):
        queue.add(work(number, sentences("it", 1)))
        replies.lists(number, 1)
    assert len(parsers) == 1 and parsers[0].parsed == ["It"] + 8 * ["it"]
    parsers[0].gate.clear()
    queue.add(work(9, sentences("slow", 1)))
    until(lambda: "slow" in parsers[0].parsed)
    queue.add(work(10, sentences("next", 1)))
    assert replies.lists(10, 1)[0].candidates
    assert len(parsers) == 2


def test_a_parser_that_cannot_be_made(made: Made) -> None:
    def make() -> Parser:
        raise InputError("no model")

    queue, replies = made(make)
    with pytest.raises(InputError, match="no model"):
        queue.try_parser(Sentence.of(("It", "runs", ".")))
    queue.add(work(1, "it is"))
    assert replies.of(1, 1)[0][0] == "refused"


def test_one_that_parses_nothing_does_not_count_as_one_that_works(made: Made) -> None:
    queue, _ = made(lambda: create_parser("command", ParserSettings(command="false")))
    with pytest.raises(InputError, match=r"'It runs \.': the parser ended with status 1"):
        queue.try_parser(Sentence.of(("It", "runs", ".")))


@pytest.mark.parametrize("has_parsed", [True, False])
def test_bad_sentences_of_one_client_cost_another_none(made: Made, has_parsed: bool) -> None:
    """A parser gives up after twenty in a row, whoever sent them."""
    queue, replies = made(lambda: create_parser("command", ParserSettings(command=QUICK)))
    if has_parsed:
        queue.try_parser(Sentence.of(("It", "runs", ".")))
    queue.add(work(1, sentences("crash", 19), "bad"))
    replies.lists(1, 19)
    queue.add(work(2, "we crash\n\nit is\n\nit was\n\nwe saw", "good"))
    found = replies.lists(2, 4)
    assert [bool(nbest.candidates) for nbest in found] == [False, True, True, True]
    assert found[0].rejected[0].message == "the parser ended with status 1"


class Library(OneTreeParser):
    """A parser like benepar's: a flat tree, once the gate is open; some words make it raise."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = threading.Event()
        super().__init__("benepar", self._flat)

    def _flat(self, given: Sequence[Sentence]) -> list[str]:
        self.asked.set()
        assert self.gate.wait(PATIENCE)
        if any("raise" in sentence.words for sentence in given):
            raise OSError("[Errno 2] No such file or directory: '/models/secret'")
        return [sentence.flat_tree() for sentence in given]


def test_a_parser_in_this_process_is_not_loaded_again(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = CalledLate()
    monkeypatch.setattr(threading, "Timer", late)
    parsers: list[Library] = []

    def make() -> Library:
        parsers.append(Library())
        if len(parsers) > 1:
            parsers[1].gate.set()
        return parsers[-1]

    queue, replies = made(make, parser=["benepar"])
    queue.add(work(1, "it is"))
    until(lambda: parsers and parsers[0].asked.is_set())
    queue.cancel(1)
    late.call()
    parsers[0].gate.set()
    queue.add(work(2, "it was"))
    assert replies.lists(2, 1)[0].candidates
    assert len(parsers) == 1


@pytest.mark.parametrize("log_text", [False, True])
def test_clients_are_not_told_what_a_library_raised(made: Made, log_text: bool) -> None:
    def make() -> Library:
        parser = Library()
        parser.gate.set()
        return parser

    queue, replies = made(make, parser=["benepar"], log_text=log_text)
    queue.add(work(1, "it is\n\nwe raise\n\n" + "a " * 300))
    _, raised, long = replies.lists(1, 3)
    assert raised.rejected[0].message == UNSAID
    assert "300 words, more than" in long.rejected[0].message  # it is we who say so
    ((_, line),) = replies.of(NOBODY, 1)
    assert line["error"] == "OSError" and ("/models/secret" in str(line)) is log_text


def test_trees_of_too_many_tokens_are_rejected(made: Made) -> None:
    queue, replies = made(Flat, max_tree_tokens=7)
    queue.add(work(1, "a b c d\n\na b c d e"))  # (S, words, )S, <eos>
    short, long = replies.lists(1, 2)
    assert len(short.candidates) == 1 and not long.candidates
    assert long.rejected[0].code == "too-long"
    assert "max_tree_tokens = 7" in long.rejected[0].message
