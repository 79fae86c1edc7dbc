"""Significance of F1 differences, against cases counted by hand and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from reranker.evaluation.brackets import corpus_f1
from reranker.evaluation.significance import bootstrap_differences, compare, randomisation_p


def rows(*counts: tuple[int, int, int]) -> NDArray[np.int64]:
    return np.array(counts)


def test_two_sentences_that_both_improve_can_be_chance() -> None:
    # Matched, gold, test brackets. Of the 4 ways to swap, none and both give the difference
    # observed, the other two none at all: p = 2/4.
    first, second = rows((1, 4, 4), (1, 4, 4)), rows((3, 4, 4), (3, 4, 4))
    result = compare(first, second)
    assert result.f1 == 75.0 and result.difference == 50.0
    assert result.randomisation_p == pytest.approx(0.5, abs=0.02)
    # Every bootstrap sample differs by 50 as well: nothing is as far from their mean as 0 is.
    assert (result.low, result.high) == (50.0, 50.0)
    assert result.bootstrap_p == 1 / 10_001  # never 0


def test_randomisation_agrees_with_all_ways_to_swap() -> None:
    random = np.random.default_rng(3)
    gold = random.integers(5, 30, 10)
    systems = []
    for _ in range(2):
        test = random.integers(5, 30, 10)
        systems.append(np.stack([random.integers(0, np.minimum(gold, test)), gold, test], axis=1))
    first, second = systems
    observed = abs(corpus_f1(second) - corpus_f1(first))
    ways = list(itertools.product([False, True], repeat=10))
    extreme = 0
    for way in ways:
        swap = np.array(way)[:, None]
        one, other = np.where(swap, second, first), np.where(swap, first, second)
        extreme += abs(corpus_f1(other) - corpus_f1(one)) >= observed - 1e-9
    exact = extreme / len(ways)
    assert 0.05 < exact < 0.95, "an easy case would prove little"
    # Three standard errors of a share found with 10,000 samples are at most 0.015.
    assert randomisation_p(first, second) == pytest.approx(exact, abs=0.015)
    assert randomisation_p(first, second) == randomisation_p(first, second)  # seeded


def test_bootstrap_agrees_with_all_samples() -> None:
    # Two sentences, drawn twice: both, or one of them twice with probability 1/4 each.
    first, second = rows((1, 2, 2), (4, 4, 4)), rows((2, 2, 2), (3, 4, 4))
    expected = {
        -25.0: 0.25,  # the second twice: 75 against 100
        0.0: 0.5,  # one of each: 5 of 6 against 5 of 6
        50.0: 0.25,  # the first twice: 100 against 50
    }
    drawn = bootstrap_differences(first, second, 20_000, 7).round(6)
    found, times = np.unique(drawn, return_counts=True)
    assert dict(zip(found.tolist(), (times / 20_000).tolist(), strict=True)) == {
        difference: pytest.approx(share, abs=0.011) for difference, share in expected.items()
    }


def test_a_system_does_not_differ_from_itself() -> None:
    counts = rows((1, 4, 3), (2, 3, 3), (0, 0, 0))
    result = compare(counts, counts)
    assert result.difference == result.low == result.high == 0
    assert result.bootstrap_p == result.randomisation_p == 1


def test_order_decides_the_sign_only() -> None:
    first, second = rows((1, 4, 4), (2, 5, 4), (3, 3, 3)), rows((3, 4, 4), (1, 5, 4), (2, 3, 3))
    one, other = compare(first, second), compare(second, first)
    assert one.difference == -other.difference
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.bootstrap_p == other.bootstrap_p
    assert one.randomisation_p == other.randomisation_p
