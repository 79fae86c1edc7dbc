"""A parser is given up only if it has never parsed anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.command import CommandParser
from reranker.parsers.in_process import OneTreeParser
from reranker.parsers.lists import Failures
from reranker.parsers.parser import Parser, ParserSettings
from reranker.trees.tree import Tree
from tests.checkout import TOY_PARSER
from tests.reranker.parsers.test_command import sentences
from tests.waiting import at_once


def flat_trees(given: Sequence[Sentence]) -> list[Tree]:
    if any("crash" in sentence.words for sentence in given):
        raise ValueError("cannot parse: crash")
    return [Tree("S", tuple(Tree("NN", (word,)) for word in each.words)) for each in given]


def in_process() -> Parser:
    return OneTreeParser("flat", flat_trees)


def program() -> Parser:
    return CommandParser(ParserSettings(command=TOY_PARSER))


BAD, GOOD = "crash it", "it runs"


@pytest.mark.parametrize("make", [in_process, program])
def test_failures_of_others_cost_no_sentence_its_list(make: Callable[[], Parser]) -> None:
    parser = make()
    parser.parse(sentences(*[BAD] * 19))
    found = parser.parse(sentences(BAD, GOOD, GOOD, GOOD))
    assert [isinstance(each, NBest) for each in found] == [False, True, True, True]
    later = parser.parse(sentences(*[BAD] * 3, GOOD))
    assert [isinstance(each, NBest) for each in later] == [False, False, False, True]


def test_one_that_parses_nothing_is_given_up() -> None:
    parser = in_process()
    parser.parse(sentences(*[BAD] * 18))
    with pytest.raises(InputError, match=r"21 sentences .*crash"):
        parser.parse(sentences(BAD, BAD, BAD))
    with pytest.raises(InputError, match="22 sentences"):  # for every other caller, too
        parser.parse(sentences(BAD))


def test_no_failure_of_any_thread_is_missed() -> None:
    failures = Failures("it")

    def refusal() -> str:
        try:
            failures.count(["too long"] * 2)
        except InputError as error:
            return str(error)
        return ""

    assert sorted(filter(None, at_once(12, refusal))) == [
        f"it: {number} sentences in a row could not be parsed: too long" for number in (20, 22, 24)
    ]
