"""Parsers that die, hang and lose count, and what they print."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Sequence

import pytest

from reranker.errors import InputError
from reranker.nbest import NBest, ReadOptions
from reranker.nbest.data import Sentence
from reranker.parsers import command
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from reranker.process.cancellation import Stopped
from tests.checkout import TOY_PARSER
from tests.reranker.parsers.time_limits import impatient
from tests.waiting import PATIENCE, until


def parser_of(program: str, seconds: float, options: ReadOptions = ReadOptions()) -> CommandParser:
    return CommandParser(ParserSettings(command=program, seconds=seconds, options=options))


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence.of(text.split()) for text in texts]


def words(found: Sequence[NBest | str]) -> list[list[str] | str]:
    return [each if isinstance(each, str) else list(each.words) for each in found]


def test_a_list_for_each_sentence() -> None:
    found = parser_of(TOY_PARSER, 10).parse(sentences("the cat runs", "it runs"))
    assert words(found) == [["the", "cat", "runs"], ["it", "runs"]]


def test_words_with_slashes_are_not_taken_for_words_with_tags() -> None:
    found = parser_of(TOY_PARSER, 10).parse(sentences("and/or 1/2"))
    assert words(found) == [["and/or", "1/2"]]


def test_only_what_cannot_be_parsed_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "exchange", impatient)
    firsts = ["one", "crash", "two", "lose", "other", "three", "hang", "four"]
    found = words(
        parser_of(TOY_PARSER, PATIENCE).parse(
            sentences(*(f"{first} more words" for first in firsts))
        )
    )
    assert [each[0] for each in found if not isinstance(each, str)] == [
        *("one", "two", "three", "four")
    ]
    assert found[1] == "the parser ended with status 1: cannot parse: crash"
    assert "no n-best lists" in found[3]
    assert found[4] == "word 1 is 'something' where the list has 'other'"
    assert found[6] == "the parser took more than 0.2 s"


def test_the_time_limit_is_for_starting_and_for_each_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "_STARTING_SECONDS", 0.05)
    found = parser_of("sleep 600", 0.25).parse(sentences("a", "b"))
    assert found == ["the parser took more than 0.3 s"] * 2


def test_a_program_that_prints_without_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_MOST_PRINTED", 1 << 20)
    monkeypatch.setattr(command, "_MOST_FOR_A_SENTENCE", 1 << 20)
    for program in ("yes", "sh -c 'yes & exec sleep 600'"):
        parser = parser_of(program, PATIENCE)
        assert parser.parse(sentences("a b")) == ["the parser printed more than 2 MB"]


def test_messages_without_end_are_not_kept() -> None:
    """And may come before anything is read, which is more than a pipe holds."""
    program = "import sys; sys.stderr.write('x' * 3_000_000 + '\\nat last\\n'); sys.stdin.read()"
    parser = parser_of(shlex.join([sys.executable, "-c", f"{program}; sys.exit(3)"]), PATIENCE)
    found = parser.parse([Sentence.of(["word"] * 50_000)])
    assert found == ["the parser ended with status 3: at last"]


def test_what_is_printed_while_it_reads_is_all_there() -> None:
    many = [Sentence.of([f"word{number}"] * 200) for number in range(100)]
    found = parser_of(TOY_PARSER, PATIENCE).parse(many)
    assert words(found) == [list(sentence.words) for sentence in many]


@pytest.mark.parametrize("form", ["rnng", "opennmt"])
def test_formats_that_number_or_count_lists_survive_halving(form: str) -> None:
    """And trees without tags, or without words, are whole trees of the sentence."""
    parser = parser_of(f"{TOY_PARSER} {form}", 10, ReadOptions(form, beam=2))
    found = parser.parse(sentences("the cat runs", "crash it", "it runs far"))
    assert words(found)[::2] == [["the", "cat", "runs"], ["it", "runs", "far"]]
    assert isinstance(found[0], NBest) and isinstance(found[1], str)
    assert found[0].candidates[1].text == "(S (NP (XX the) (XX cat)) (XX runs))"


@pytest.mark.parametrize(
    "program, message",
    [
        ("", "is empty"),
        ("'", "quotation"),
        ("/no/such", "No such file"),
        ("false", "30 sentences in a row could not be parsed: the parser ended with status 1"),
    ],
)
def test_what_is_no_parser(program: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--parser-command.*{message}"):
        parser_of(program, 10).parse(sentences(*["a b"] * 30))


def test_a_parser_can_be_stopped() -> None:
    parser, ended = parser_of(TOY_PARSER, PATIENCE), threading.Event()

    def parse() -> None:
        with pytest.raises(Stopped):
            parser.parse(sentences("hang here", "and here"))
        ended.set()

    threading.Thread(target=parse).start()
    until(lambda: parser._running)
    parser.stop()
    assert ended.wait(PATIENCE)
