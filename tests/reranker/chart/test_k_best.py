"""The chart against all trees of short sentences."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

from reranker.chart.best import Chart, Span
from reranker.chart.k_best import k_best
from tests.reranker.chart.trees import all_trees, gains_of, random_gains, score


@pytest.mark.parametrize(("words", "labels"), [(1, 1), (1, 3), (2, 2), (3, 2), (4, 1), (4, 2)])
def test_every_tree_comes_once_and_in_order(words: int, labels: int) -> None:
    for seed in range(3):
        gains = random_gains(words, labels, seed)
        expected = sorted((score(tree, gains) for tree in all_trees(words, labels)), reverse=True)
        trees = k_best(Chart(gains), 100_000)
        assert len(trees) == len(expected)
        assert len({frozenset(tree.spans) for tree in trees}) == len(trees)
        assert [tree.score for tree in trees] == pytest.approx(expected)
        for tree in trees:
            assert tree.score == pytest.approx(score(frozenset(tree.spans), gains))


@pytest.mark.parametrize("words", [1, 2, 5, 12, 40])
def test_the_first_tree_is_the_best_one(words: int) -> None:
    for seed in range(5):
        chart = Chart(random_gains(words, 4, seed))
        first, *others = k_best(chart, 30)
        assert first == chart.best()
        assert len(others) == (4 if words == 1 else 29)
        scores = [first.score, *(tree.score for tree in others)]
        assert scores == sorted(scores, reverse=True)


def test_a_shorter_list_is_the_beginning_of_a_longer_one() -> None:
    chart = Chart(random_gains(9, 3, 7))
    assert k_best(chart, 10) == k_best(Chart(chart.gains), 200)[:10]


def test_parents_come_before_children_and_left_to_right() -> None:
    gains = np.full((3, 3, 2), -9.0)
    for start, end, label in ((0, 3, 0), (0, 2, 1), (2, 3, 1), (0, 1, 0)):
        gains[start, end - 1, label] = 5.0
    assert Chart(gains_of(gains)).best().spans == (
        Span(0, 3, 0), Span(0, 2, 1), Span(0, 1, 0), Span(2, 3, 1),
    )  # fmt: skip


def test_of_equal_trees_the_one_with_fewer_brackets_comes_first() -> None:
    trees = k_best(Chart(gains_of(np.zeros((2, 2, 2)))), 100)
    assert len(trees) == 27  # three spans, each with one of two labels or none
    assert trees[0].spans == () == Chart(gains_of(np.zeros((2, 2, 2)))).best().spans
    assert trees == k_best(Chart(gains_of(np.zeros((2, 2, 2)))), 100)


def test_long_sentences() -> None:
    """Longer than what Python would recurse to by itself."""
    words = 250
    gains = np.full((words, words, 1), -1.0)
    gains[0, :, 0] = 1.0  # everything branches to the left
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        first, second = k_best(Chart(gains_of(gains)), 2)
    finally:
        sys.setrecursionlimit(limit)
    assert len(first.spans) == words and first.score == pytest.approx(words)
    assert second.score == pytest.approx(words - 1)
