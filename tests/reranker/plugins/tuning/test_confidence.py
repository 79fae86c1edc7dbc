"""Confidence fitted to lists, and its figures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from reranker.nbest import Candidate, NBest
from reranker.plugins.tuning.confidence import (
    Bin,
    Choices,
    Judged,
    choices,
    cross_validated,
    fit,
    probabilities,
)
from reranker.ranking import Scored, Weighing, rank
from reranker.ranking.confidence import Calibration, features
from tests.reranker.plugins.tuning.tuned_lists import lists, random_lists

RIGHT, SO_SO, WRONG, LEFT_OUT = (4, 4, 4), (2, 4, 4), (0, 4, 4), (0, 0, 0)
FIRST = ((-9.0, -8.0), -1.0, 9, SO_SO)


def simulated(seed: int, size: int) -> Choices:
    """Draw choices whose log odds are 0.5 + 1.5 x - y."""
    random = np.random.default_rng(seed)
    drawn = random.normal(size=(size, 2))
    log_odds = 0.5 + drawn @ [1.5, -1.0]
    return Choices(np.arange(size), drawn, random.uniform(size=size) < 1 / (1 + np.exp(-log_odds)))


def test_choices_by_hand() -> None:
    def second(counts: tuple[int, int, int], parser: float = -4.0) -> object:
        return [FIRST, ((-2.0, -6.0), parser, 9, counts)]

    some = lists(
        second(RIGHT),  # type: ignore[arg-type]
        [FIRST, ((-10.0, -10.0), 0.0, 9, RIGHT)],  # the models choose the parser's first
        second(WRONG),  # type: ignore[arg-type]
        second(SO_SO),  # type: ignore[arg-type]
        second(LEFT_OUT),  # type: ignore[arg-type]
        second(RIGHT, math.nan),  # type: ignore[arg-type]
        second(RIGHT),  # type: ignore[arg-type]
    )
    some = replace(some, has_first=np.array([True] * 6 + [False]))
    found = choices(some, Weighing())
    assert found.lists.tolist() == [0, 2, 3]
    assert found.is_better.tolist() == [True, False, False]  # equal is not better
    # Members gain 7 and 2 nats, the parser loses 3.
    assert found.features == pytest.approx(np.array([features([7.0, 2.0], -3.0)] * 3))
    assert len(choices(some[:1], Weighing(0.0))) == 0


def test_the_same_probability_as_for_a_ranking() -> None:
    some = random_lists(3, sentences=40, candidates=6, members=2)
    weighing = Weighing(0.6)
    known = Calibration(weighing, 0.3, (0.7, 0.2))
    chosen = choices(some, weighing)
    expected = dict(zip(chosen.lists.tolist(), probabilities(chosen, known), strict=True))
    assert 10 < len(expected) < 40
    for row in range(40):
        size = int(some.is_candidate[row].sum())
        listed = [Candidate(n, "", ("x",), float(some.parser[row, n]), n) for n in range(size)]
        scores = [
            Scored(-float(parts.sum()), 1.0, 9, 0, None, member_nll=tuple(-parts))
            for parts in some.members[row, :size]
        ]
        ranking = rank(NBest("x", tuple(listed), (), 1), scores, weighing)
        confidence = known.better_than_first(ranking, weighing)
        assert (confidence is None) == (row not in expected)
        if confidence is not None:
            assert confidence == pytest.approx(expected[row], abs=1e-4)


def test_the_fit_finds_what_is_there() -> None:
    known = fit(simulated(1, 20_000), Weighing())
    assert known.intercept == pytest.approx(0.5, abs=0.06)
    assert known.coefficients == pytest.approx((1.5, -1.0), abs=0.06)


def test_nothing_near_the_fit_is_more_likely() -> None:
    some = simulated(2, 60)

    def cost(intercept: float, *weights: float) -> float:
        found = probabilities(some, Calibration(Weighing(), intercept, weights))
        right = np.where(some.is_better, found, 1 - found)
        penalty = 1e-3 * intercept**2 + sum(weight**2 for weight in weights)
        return float(-np.log(right).sum() + penalty / 2)

    known = fit(some, Weighing())
    point = np.array([known.intercept, *known.coefficients])
    for direction in np.random.default_rng(3).normal(size=(50, 3)):
        assert cost(*(point + 0.01 * direction)) > cost(*point)


def test_a_fit_of_one_kind_only_is_finite() -> None:
    some = simulated(4, 30)
    always = replace(some, is_better=np.ones(30, dtype=np.bool_))
    assert (probabilities(always, fit(always, Weighing())) > 0.9).all()
    assert not always.are_enough
    assert simulated(4, 200).are_enough


def test_cross_validation_fits_without_what_it_tests() -> None:
    # The blocks are the lists 0-29, 30-59 and 60-89; what is fitted is as given, what is judged is
    # chosen with another weight.
    some = random_lists(5, sentences=90, candidates=6, members=2)
    fitted, judged = choices(some, Weighing()), choices(some, Weighing(0.5))
    for lm_weight, expected in ((None, fitted), (0.5, judged)):
        found = cross_validated(some, Weighing(), 3, lm_weight)
        assert found.is_better.tolist() == expected.is_better.tolist()
        for start in (0, 30, 60):
            others = fitted[(fitted.lists < start) | (fitted.lists >= start + 30)]
            inside = (expected.lists >= start) & (expected.lists < start + 30)
            forecast = probabilities(expected[inside], fit(others, Weighing()))
            assert found.predicted[inside].tolist() == forecast.tolist()
            assert 0 < inside.sum() < 30


def test_figures_by_hand() -> None:
    is_better = np.array([True, False, True, True])
    found = Judged(is_better, np.array([0.75, 0.25, 0.5, 1.0]))
    assert found.brier == pytest.approx((0.0625 + 0.0625 + 0.25 + 0) / 4)
    assert found.log_loss == pytest.approx((2 * math.log(4 / 3) + math.log(2)) / 4)
    # As few choices have a bin each: 0.25, 0.25, 0.5 and 0 off.
    assert found.calibration_error == pytest.approx(0.25)
    assert found.share == 0.75
    assert found.constant.brier == pytest.approx((3 * 0.0625 + 0.5625) / 4)


def test_the_error_by_chance_is_that_of_right_probabilities() -> None:
    random = np.random.default_rng(6)
    forecast = random.uniform(0.1, 0.9, 400)
    errors = [
        Judged(random.uniform(size=400) < forecast, forecast).calibration_error for _ in range(300)
    ]
    by_chance = Judged(forecast > 0.5, forecast).error_by_chance
    assert by_chance == pytest.approx(np.mean(errors), rel=0.05)


def test_bins_have_as_many_choices_each() -> None:
    values = np.linspace(0, 1, 40)
    bins = Judged((values > 0.5)[::-1], values[::-1]).bins
    assert [one.size for one in bins] == [4] * 10
    assert [one.observed for one in bins] == [0] * 5 + [1] * 5
    assert bins[0].predicted == pytest.approx(values[:4].mean())


def test_intervals_of_shares() -> None:
    # Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 29 of 29.
    for hits, size, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (29, 29, 0.8830, 1.0),
    ):
        assert Bin(size, 0.0, hits / size).interval == pytest.approx((low, high), abs=5e-5)
