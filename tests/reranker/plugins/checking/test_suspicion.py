"""Suspicious places, with probabilities given by hand."""

from __future__ import annotations

import math

import pytest

from reranker.errors import TreeError
from reranker.plugins.checking.evidence import Evidence, Expected
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.suspicion import Place, places
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree

GOLD = "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man))) (. .)))"


class Known(Evidence):
    """A model that expects the same of every sentence."""

    def __init__(self, **probabilities: float) -> None:
        self.labels = {"S", "NP", "VP", "PP"}
        self.probabilities = {(0, 5, "S"): 0.99, (0, 1, "NP"): 0.99, (1, 4, "VP"): 0.99}
        self.probabilities[2, 4, "NP"] = probabilities.pop("np", 0.99)
        self.probabilities |= {(2, 4, label): value for label, value in probabilities.items()}

    def of(self, words: tuple[str, ...], tags: tuple[str, ...]) -> Expected:
        return Expected(self.probabilities, "(TOP )")


def found(gold: str, evidence: Evidence, *others: str) -> list[Place]:
    index = Index()
    for text in (gold, gold, *others):
        index.add(linearize(Tree.from_string(text)))
    for text in (gold, gold, *others):
        index.count(linearize(Tree.from_string(text)))
    return places(Tree.from_string(gold), evidence, index)[0]


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_an_improbable_bracket_is_first() -> None:
    first, second, *_ = found(GOLD, Known(np=0.001))
    assert (first.start, first.end, first.gold, first.words) == (2, 4, "NP", "the man")
    assert first.suspicion == pytest.approx(-log_odds(0.001))
    assert (first.probability, first.likely) == (0.001, "")
    # Each further place of the sentence is six nats less suspicious.
    assert second.suspicion == pytest.approx(-log_odds(0.99) - 6)


def test_a_bracket_that_is_missing_or_has_another_label() -> None:
    without = GOLD.replace("(NP (DT the) (NN man))", "(DT the) (NN man)")
    first, *_ = found(without, Known(np=0.9))
    assert (first.gold, first.likely, first.likely_probability) == ("", "NP", 0.9)
    assert first.suspicion == pytest.approx(log_odds(0.9) + 2)
    first, *_ = found(GOLD.replace("(NP (DT", "(PP (DT"), Known(np=0.9, PP=0.01))
    assert (first.gold, first.probability, first.likely) == ("PP", 0.01, "NP")
    assert first.suspicion == pytest.approx(max(-log_odds(0.01), log_odds(0.9) + 2))
    assert len(found(GOLD, Known(PP=0.4))) == 4  # an improbable bracket is not missing


def test_the_same_words_elsewhere_and_chains_that_are_alone() -> None:
    other = GOLD.replace("(NP (DT", "(PP (DT")
    (same,) = (each for each in found(GOLD, Known(), other) if each.start == 2)
    assert (same.others, same.occurrences, same.is_alone) == (1, 3, False)
    index = Index()
    index.add(linearize(Tree.from_string(GOLD)))
    alone = places(Tree.from_string(GOLD), Known(), index)[0]
    assert [(each.gold, each.is_alone) for each in alone if each.gold != "NP"] == [
        ("S", True), ("VP", True),
    ]  # fmt: skip
    assert alone[0].suspicion == pytest.approx(-log_odds(0.99) + 2)


def test_labels_above_themselves_and_unknown_ones_are_not_judged() -> None:
    twice = GOLD.replace("(NP (DT the) (NN man))", "(NP (NP (DT the) (NN man)))")
    (same,) = (each for each in found(twice, Known()) if each.gold == "NP NP")
    assert same.probability == 0.99
    unknown = found(GOLD.replace("(NP (DT", "(NML (DT"), Known(np=0.2))
    assert "NML" not in {each.gold for each in unknown}


@pytest.mark.parametrize(
    "text, reason",
    [
        ("(TOP (A (B (NN x)) (C (NN y)) (NP (NN z))))", r"labels .*\(A, B, C\): is it of another"),
        ("(TOP (NN x) (NN y))", "a flat tree"),
        ("(TOP (S (XX x) (XX y)))", "a flat tree, or words without tags"),
    ],
)
def test_trees_that_are_left_out(text: str, reason: str) -> None:
    with pytest.raises(TreeError, match=reason):
        places(Tree.from_string(text), Known(), Index())
