"""Constituents in brackets."""

from __future__ import annotations

import numpy as np
import pytest

from reranker.chart.best import Chart
from reranker.chart.bracketed import best_tags, bracketed
from reranker.chart.k_best import k_best
from reranker.trees.constituents import constituents
from reranker.trees.linearize import linearize, linearize_text
from reranker.trees.tree import Tree
from tests.reranker.chart.trees import random_gains

LABELS = ("S", "NP", "S VP", "VP NP PP")


@pytest.mark.parametrize("words", [1, 2, 7])
def test_text_and_tokens_are_of_one_tree_with_these_constituents(words: int) -> None:
    leaves, tags = [f"w{number}" for number in range(words)], ["T"] * words
    for tree in k_best(Chart(random_gains(words, len(LABELS), words)), 40):
        text, tokens = bracketed(tree.spans, LABELS, leaves, tags, "TOP")
        assert linearize(Tree.from_string(text)) == tokens == linearize_text(text)
        assert Tree.from_string(text).leaves() == leaves and Tree.from_string(text).tags() == tags
        assert [(each.start, each.end, each.label) for each in constituents(tokens)] == [
            (start, end, LABELS[label]) for start, end, label in tree.spans
        ]


def test_no_constituent_at_all() -> None:
    assert bracketed([], LABELS, ["a", "b"], ["X", "Y"], "S1") == ("(S1 (X a) (Y b))", ("a", "b"))


TAGS = ("NN", ",", ":", "HYPH", "``", "''")


def row(best: str, second: str = "NN") -> list[float]:
    return [0.0 if tag == best else -1.0 if tag == second else -9.0 for tag in TAGS]


def test_the_most_probable_tag() -> None:
    rows = np.array([row("NN"), row("HYPH"), row("``", "''")])
    assert best_tags(("dog", "-", '"'), rows, TAGS) == ("NN", "HYPH", "``")


def test_punctuation_has_the_tag_of_all_treebanks() -> None:
    words = (",", "?", "--", ";", "”", "-RRB-", "-LSB-", "}")
    rows = np.array([row("NN")] * len(words))
    expected = (",", ".", ":", ":", "''", "-RRB-", "-LRB-", "-RRB-")
    assert best_tags(words, rows, TAGS) == expected


def test_words_are_no_punctuation() -> None:
    rows = np.array([row(",", "HYPH"), row(":", "NN")])
    assert best_tags(("comma", "3"), rows, TAGS) == ("HYPH", "NN")


def test_a_model_without_tags() -> None:
    assert best_tags(("dog", "."), np.zeros((2, 0)), ()) == ("XX", ".")
