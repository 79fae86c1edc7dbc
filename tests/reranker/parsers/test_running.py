"""Sentences in order, each with its own list or the reason why it has none."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.parsers.running import ParsedLists
from reranker.process.machine import MOST_THREADS
from reranker.text.reading import TextSentence
from tests.checkout import TOY_PARSER


def text_sentence(number: int, words: str, problem: str | None = None) -> TextSentence:
    origin = Origin("t", number, words, ())
    return TextSentence(Sentence.of(words.split()), origin, problem, position=10 * number)


def sentences(count: int) -> Iterator[TextSentence]:
    for number in range(count):
        if number == 5:
            yield text_sentence(number, "crash in here")
        elif number == 30:
            yield text_sentence(number, "crash if parsed", "too long")
        else:
            yield text_sentence(number, f"word{number} runs here")


def parser() -> CommandParser:
    return CommandParser(ParserSettings(command=TOY_PARSER))


@pytest.mark.parametrize("jobs", [1, 3])
def test_lists_in_order_with_their_places(jobs: int) -> None:
    parsing = ParsedLists(parser(), sentences(40), jobs)
    found = list(parsing)
    parsing.close()
    assert [nbest.id for nbest in found] == [str(number) for number in range(40)]
    assert [nbest.line for nbest in found] == list(range(40))
    assert [number for number, nbest in enumerate(found) if not nbest.candidates] == [5, 30]
    for number, nbest in enumerate(found):
        assert nbest.origin and nbest.origin.line == number
        if nbest.candidates:
            assert nbest.words[0] == f"word{number}"
            assert {(one.file, one.line) for one in nbest.candidates} == {("t", number)}
    assert found[5].fallback == "(TOP (S (XX crash) (XX in) (XX here)))"
    assert [found[number].rejected[0].message for number in (5, 30)] == [
        "the parser ended with status 1: cannot parse: crash",
        "too long",
    ]
    assert parsing.position == 390


def test_lists_do_not_depend_on_where_a_run_begins() -> None:
    whole = ParsedLists(parser(), sentences(20), 1)
    rest = ParsedLists(parser(), sentences(20), 2)
    skipped = [rest.skip() for _ in range(7)]
    assert all(nbest and not nbest.candidates for nbest in skipped) and rest.position == 60
    assert list(rest) == list(whole)[7:]
    assert rest.skip() is None


def test_only_so_much_is_read_ahead() -> None:
    read = itertools.count()
    endless = (text_sentence(number, "it runs far") for number in read)
    parsing = ParsedLists(parser(), endless, 1)
    next(parsing)
    parsing.close()
    assert next(read) <= 8 + 16 + 32 + 1


@pytest.mark.plugins
def test_names_of_parsers(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"'none'.* beam, benepar, bllip, chart, command, encdec, stanza",
    ):
        create_parser("none", ParserSettings())
    # Of the parser or its model, whichever is missing.
    with pytest.raises(InputError, match=r"bllipparser|not the folder of a BLLIP model"):
        create_parser("bllip", ParserSettings(model=str(tmp_path)))


class AtOnce:
    """A parser that has no list for any sentence, and says how many threads asked."""

    batch_sizes = (1,)

    def __init__(self) -> None:
        self.threads: set[str] = set()
        self.most_jobs = 2

    def parse(self, sentences: Sequence[Sentence]) -> list[str]:
        self.threads.add(threading.current_thread().name)
        return ["none"] * len(sentences)

    def stop(self) -> None:
        pass


def test_no_more_threads_than_are_of_use() -> None:
    parser = AtOnce()
    parsing = ParsedLists(parser, sentences(40), 16)
    assert len(list(parsing)) == 40
    parsing.close()
    assert parser.threads <= {"parsing_0", "parsing_1"}


def test_jobs_beyond_any_machine_read_no_whole_text_ahead() -> None:
    parser, text = AtOnce(), sentences(3_000)
    del parser.most_jobs
    parsing = ParsedLists(parser, text, 10**24)
    assert next(parsing).rejected
    assert len(list(text)) == 3_000 - 2 * MOST_THREADS
    parsing.close()
