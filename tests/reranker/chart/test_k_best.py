"""The chart against all trees of short sentences."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections.abc import Iterable

import numpy as np
import pytest

from reranker.chart.best import Chart, Derivation, Span, Values
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


@pytest.mark.parametrize("seed", range(4))
def test_equal_trees_have_one_order(seed: int) -> None:
    """Every list is in the order of its derivations' alternatives and ranks below, however few of
    them are asked for."""
    gains = np.random.default_rng(seed).integers(-1, 2, (4, 4, 2)).astype(float)
    trees = k_best(Chart(gains_of(gains)), 10_000)
    assert trees == [Derivation(-cost, spans) for cost, spans in all_open(gains, 0, 4)]
    assert k_best(Chart(gains_of(gains)), 7) == trees[:7]


Listed = list[tuple[float, tuple[Span, ...]]]  # the cost and the constituents


def all_open(gains: Values, start: int, end: int) -> Listed:
    kinds = all_sequences(gains, start, end), all_closed(gains, start, end)
    return in_order(
        (cost, kind, rank, 0, spans)
        for kind, derivations in enumerate(kinds)
        for rank, (cost, spans) in enumerate(derivations)
    )


def all_closed(gains: Values, start: int, end: int) -> Listed:
    labels = enumerate(np.argsort(-gains[start, end - 1], kind="stable").tolist())
    inside = [*enumerate(all_sequences(gains, start, end))]
    return in_order(
        (cost - gains[start, end - 1, label], 0, first, second, (Span(start, end, label), *spans))
        for first, label in labels
        for second, (cost, spans) in inside
    )


def all_sequences(gains: Values, start: int, end: int) -> Listed:
    if end - start == 1:
        return [(0.0, ())]
    return in_order(
        (left[0] + right[0], middle, first, second, (*left[1], *right[1]))
        for middle in range(start + 1, end)
        for first, left in enumerate(all_open(gains, start, middle))
        for second, right in enumerate(
            (all_open if end - middle == 1 else all_closed)(gains, middle, end)
        )
    )


def in_order(derivations: Iterable[tuple[float, int, int, int, tuple[Span, ...]]]) -> Listed:
    return [(float(cost), spans) for cost, *_, spans in sorted(derivations)]


def test_a_chart_goes_with_its_trees() -> None:
    """Without waiting for Python's collector, which does not know how large tables are."""
    gc.disable()
    try:
        chart = Chart(random_gains(9, 3, 7))
        assert len(k_best(chart, 10)) == 10
        held = weakref.ref(chart)
        del chart
        assert held() is None
    finally:
        gc.enable()


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
