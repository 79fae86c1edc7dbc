from __future__ import annotations

import numpy as np
import pytest

from reranker.nbest import NBest
from reranker.nbest.candidates import from_candidates
from reranker.plugins.surprisal.forward import ForwardModels
from reranker.plugins.surprisal.hindsight import read_list
from reranker.plugins.surprisal.sentence import SentenceMeasures, read_sentence
from reranker.plugins.surprisal.spelling import Spelling
from reranker.trees.linearize import delinearize
from tests.reranker.plugins.surprisal.toy import ALL, SENTENCE, checkpoint, log_probabilities, trees

MEMBERS = [checkpoint(1)]
MODELS = ForwardModels(MEMBERS)
SPELLING = Spelling(MODELS.vocabulary)


def listed(*trees: tuple[str, ...]) -> NBest:
    tags = ["X"] * len(SENTENCE)
    return from_candidates([delinearize(tree, SENTENCE, tags).to_string() for tree in trees])


def measures(nbest: NBest) -> SentenceMeasures:
    read = read_list(MODELS, SPELLING, nbest)
    assert isinstance(read, SentenceMeasures)
    return read


def test_sums_are_those_of_the_distinct_beginnings() -> None:
    some = [*trees(SENTENCE)][::17]
    read = measures(listed(*some, some[0]))
    total = 0.0
    for number, word in enumerate(read.words, 1):
        begins = set()
        for tree in some:
            words = [place for place, token in enumerate(tree) if token in SENTENCE]
            begins.add(tree[: words[number - 1] + 1])
        total += word.surprisal
        expected = np.logaddexp.reduce(log_probabilities(MEMBERS, [*begins]))
        assert total == pytest.approx(-expected, abs=1e-4)
    whole = log_probabilities(MEMBERS, some, lambda symbol: symbol == "<eos>")
    assert read.surprisal == pytest.approx(-np.logaddexp.reduce(whole), abs=1e-4)
    assert {tokens for tokens, _ in read.trees} == set(some)


def test_a_list_of_all_whole_trees_agrees_with_the_beam_on_the_sentence() -> None:
    read, beam = measures(listed(*trees(SENTENCE))), read_sentence(MODELS, SPELLING, SENTENCE, ALL)
    assert read.surprisal == pytest.approx(beam.surprisal, abs=1e-4)


def test_what_cannot_be_used() -> None:
    unknown = from_candidates(["(TOP (WHAT (X it)))"])
    assert read_list(MODELS, SPELLING, unknown) == "no tree whose labels the model knows"
    assert read_list(MODELS, SPELLING, from_candidates(["(TOP"])) == "no usable tree"
