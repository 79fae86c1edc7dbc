"""Constituents in brackets."""

from __future__ import annotations

import pytest

from reranker.chart.best import Chart
from reranker.chart.bracketed import bracketed
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
