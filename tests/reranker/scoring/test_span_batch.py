"""Sentences read and charted at once, on the CPU, against each sentence alone."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from reranker.models.span_model import SpanModel
from reranker.nbest import NBest, read_nbest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.scoring import span_table
from reranker.scoring.span_batch import batches
from reranker.trees.linearize import is_word

ROOT = Path(__file__).parents[3]


@functools.cache
def sentences() -> list[Sentence]:
    """Return a dozen sentences, one with more pieces than the encoder has positions."""
    lists = [*read_nbest(ROOT / "examples/parses.txt")][::2]
    words = [tuple(filter(is_word, each.candidates[0].tokens)) for each in lists][:11]
    long = ("It", "was", "not", "antidisestablishmentarianism", "!") * 20
    return [*map(Sentence, words), Sentence(long)]


@functools.cache
def parser_of(candidates: int) -> Parser:
    model = str(ROOT / "ckpt/spans.pt")
    # A GPU computes in float32.
    settings = ParserSettings(model=model, device="cpu", candidates=candidates, precision="exact")
    return create_parser("chart", settings)


def lists(candidates: int, *, at_once: bool) -> list[NBest]:
    parser = parser_of(candidates)
    parser._is_batched = at_once  # type: ignore[attr-defined]
    span_table._memories.clear()
    return [each for each in parser.parse(sentences()) if isinstance(each, NBest)]


@pytest.mark.parametrize("candidates", [1, 20])
def test_trees_and_probabilities_are_those_of_each_sentence_alone(candidates: int) -> None:
    alone, together = (lists(candidates, at_once=each) for each in (False, True))
    assert [len(each.words) for each in together] == [len(each.words) for each in sentences()]
    for one, other in zip(alone, together, strict=True):
        texts = [[each.text for each in some.candidates] for some in (one, other)]
        scores = [[each.parser_score for each in some.candidates] for some in (one, other)]
        assert texts[0] == texts[1]
        assert scores[1] == pytest.approx(scores[0], abs=1e-3)
        assert one.certainty and other.certainty
        assert other.certainty.entropy == pytest.approx(one.certainty.entropy, abs=1e-3)
        known, found = one.certainty.probabilities, other.certainty.probabilities
        for key in {*known, *found}:  # what is missing is below LEAST_PROBABILITY
            assert found.get(key, 1e-3) == pytest.approx(known.get(key, 1e-3), abs=1e-4)


def test_the_ensemble_reads_again_for_the_trees_of_others_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reranker = Reranker.load(str(ROOT / "ckpt/spans.pt"), device="cpu", precision="exact")
    given = lists(20, at_once=True)[:2]
    flat = replace(given[0].candidates[0], index=20, tokens=("(X", *given[0].words, ")X"))
    more = replace(given[0], candidates=(*given[0].candidates, flat))
    with monkeypatch.context() as patch:
        patch.setattr(SpanModel, "read_one", None)  # would fail
        for nbest, ranking in zip(given, reranker.rerank_lists(given), strict=True):
            scores = [each.parser_score for each in nbest.candidates]
            assert [-each.nll for each in ranking] == pytest.approx(scores, abs=1e-3)
    (ranking,) = reranker.rerank_lists([more])
    assert [each.index for each in ranking] == [*range(21)]
    scores = [each.parser_score for each in given[0].candidates]
    assert [-each.nll for each in ranking][:20] == pytest.approx(scores, abs=1e-3)


def test_batches_are_bounded() -> None:
    assert [*batches([9, 200, 3, 9], 100)] == [[2, 0, 3, 1]]
    assert [len(batch) for batch in batches([8] * 1_025, 100)] == [512, 512, 1]  # 4,096 words
    assert [len(batch) for batch in batches([255] * 10, 128)] == [4, 4, 2]  # 16 million numbers
    assert [*batches([500, 500], 4_096)] == [[0], [1]]
    assert [*batches([], 100)] == []
