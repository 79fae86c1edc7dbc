"""Sentences that are parsed together, and limits on trees that the built-in parser proposes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.chart import ChartParser
from reranker.parsers.parser import ParserSettings
from reranker.process.cancellation import Cancellation
from reranker.service.children.scoring_main import BROKEN, _parse, without_long_trees
from reranker.text.reading import TextSentence
from tests.reranker.span_models import save_spans


def given(*words: str, problem: str | None = None) -> TextSentence:
    return TextSentence(Sentence.of(words), Origin("", 1, " ".join(words), ()), problem)


class Watched(ChartParser):
    """A parser that fails at the word "crash", and counts the sentences of each call."""

    calls: list[int]

    def parse(
        self, sentences: Sequence[Sentence], cancellation: Cancellation | None = None
    ) -> list[NBest | str]:
        self.calls.append(len(sentences))
        if any("crash" in each.words for each in sentences):
            raise RuntimeError("crash")
        return super().parse(sentences, cancellation)


@pytest.fixture
def parser(tmp_path: Path) -> Watched:
    made = Watched(ParserSettings(model=save_spans(tmp_path / "spans.pt", 1), candidates=3))
    made.calls = []
    return made


def test_sentences_of_several_requests_are_read_together(parser: Watched) -> None:
    """A sentence with a problem is not parsed, and the others' lists are theirs."""
    sentences = [given("It", "runs"), given("a", problem="too long"), given("We", "saw", "it")]
    found = _parse(parser, Cancellation(), sentences)
    assert parser.calls == [2]
    assert [len(each.nbest.candidates) for each in found] == [3, 0, 3]
    assert [each.nbest.words for each in found] == [each.sentence.words for each in sentences]
    alone = [_parse(parser, Cancellation(), [each])[0].nbest for each in sentences]
    assert [each.nbest for each in found] == alone
    assert "too long" in found[1].nbest.rejected[0].message


def test_an_error_costs_one_sentence_its_trees(parser: Watched) -> None:
    sentences = [given("It", "runs"), given("crash"), given("We", "saw", "it")]
    found = _parse(parser, Cancellation(), sentences)
    assert parser.calls == [3, 1, 1, 1]
    assert [len(each.nbest.candidates) for each in found] == [3, 0, 3]
    assert [each.fault is None for each in found] == [True, False, True]
    assert BROKEN in found[1].nbest.rejected[0].message


def test_trees_of_too_many_tokens_are_rejected() -> None:
    nbest = from_candidates(["(S (NN a) (NN b))", "(S (NP (NN a)) (NN b))"])  # <eos>: 5 and 7
    assert without_long_trees(nbest, 7) is nbest
    found = without_long_trees(nbest, 6)
    assert [each.index for each in found.candidates] == [0]
    (rejected,) = found.rejected
    assert (rejected.index, rejected.code) == (1, "too-long")
    assert rejected.message == "more tokens than max_tree_tokens = 6"
