"""An nltk parser, as a user of nltk meets it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from nltk.parse.api import ParserI
from nltk.tree import ProbabilisticTree

from reranker.errors import InputError
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from reranker.pipeline import Reranker
from reranker.plugins.pipelines.nltk_parser import RerankingParser
from reranker.trees.tree import Tree
from tests.reranker.ensembles import untrained
from tests.reranker.plugins.pipelines.parsing import its_trees, toy_parser


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker([untrained(1), untrained(2)], threads=1)


def test_trees_best_first_with_their_scores(reranker: Reranker) -> None:
    parser = RerankingParser(reranker, toy_parser())
    assert isinstance(parser, ParserI)
    trees = list(parser.parse(["the", "man", "saw", "(", "it"]))
    expected = its_trees("the", "man", "saw", "-LRB-", "it")
    strings = [Tree.from_nltk(tree).to_string() for tree in trees]
    assert set(strings) == expected
    ranking = reranker.rerank(sorted(expected))
    assert [entry.tree for entry in ranking] == strings
    for tree, entry in zip(trees, ranking, strict=True):
        assert isinstance(tree, ProbabilisticTree)
        assert tree.logprob() * math.log(2) == pytest.approx(entry.score, abs=1e-3)
    assert parser.parse_one(["the", "man", "saw", "(", "it"]) == trees[0]


def test_sentences_in_order_whatever_is_wrong_with_them(reranker: Reranker) -> None:
    sentences = [["it", "is"], [], ["crash", "it"], ["a", ""], ["it"] * 9, ["x", "New York"], ["b"]]
    parser = RerankingParser(reranker, toy_parser(), longest=8, top=1, jobs=2)
    answers = [list(trees) for trees in parser.parse_sents(sentences)]
    assert [len(trees) for trees in answers] == [1, 0, 0, 0, 0, 1, 1]
    assert [answers[place][0].leaves() for place in (0, 5, 6)] == [
        ["it", "is"],
        ["x", "New_York"],
        ["b"],
    ]
    alone = RerankingParser(reranker, toy_parser(), longest=8, top=1)
    for sentence, together in zip(sentences, answers, strict=True):
        assert list(alone.parse(sentence)) == together


@pytest.mark.parametrize("words", [None, 3, [None], ["it", 3], [b"it"], [["it"]]])
def test_a_sentence_is_a_list_of_strings(words: Any, reranker: Reranker) -> None:
    parser = RerankingParser(reranker, toy_parser())
    with pytest.raises(InputError, match="list of words"):
        list(parser.parse(words))


def test_no_sentence_is_shorter_than_one_word(reranker: Reranker) -> None:
    parser = RerankingParser(reranker, toy_parser(), longest=0)
    with pytest.raises(InputError, match=r"longest .*0"):
        parser.parse(["it", "is"])


def test_a_string_is_not_a_sentence(reranker: Reranker) -> None:
    parser = RerankingParser(reranker, toy_parser())
    message = "expected a list of words, got the string 'it is': split it into words"
    with pytest.raises(InputError, match=message):
        parser.parse("it is")
    with pytest.raises(InputError, match=message):
        list(parser.parse_sents(["it is"]))
    with pytest.raises(InputError, match="there is no parser 'none'"):
        RerankingParser(reranker, "none")


def test_it_reads_no_more_than_it_needs(reranker: Reranker) -> None:
    read = []

    def endless():  # type: ignore[no-untyped-def]
        while True:
            read.append(1)
            yield ["it", "is"]

    next(iter(RerankingParser(reranker, toy_parser()).parse_sents(endless())))
    assert len(read) < 1000


def test_a_parser_that_does_not_work(reranker: Reranker) -> None:
    parser = RerankingParser(reranker, CommandParser(ParserSettings(command="/no/such")))
    with pytest.raises(InputError, match="No such file"):
        parser.parse_one(["it", "is"])
