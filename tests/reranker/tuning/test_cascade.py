"""The margins of a cascade: as narrow as what may be missed allows; ``rerank tune --cascade``."""

from __future__ import annotations

import numpy as np
import pytest

from reranker.cascade import Cascade, expected
from reranker.evaluation.brackets import corpus_f1
from reranker.ranking import Weighing
from reranker.tuning.cascade import _expected, descend, fit, unseen
from tests.reranker.tuned_lists import lists, random_lists

STAGES = (2,), (0,), (1,)
COUNTS = (4, 4, 4)


def test_by_hand() -> None:
    # Model 0 is asked first. It is right in the first list, 2 nats wrong in the second, 5 in the
    # third; the models' sum counts that twice.
    right = [((-10.0, -10.0), 0.0, 9, COUNTS), ((-20.0, -20.0), 0.0, 9, COUNTS)]
    near = [((-12.0, -10.0), 0.0, 9, COUNTS), ((-10.0, -20.0), 0.0, 9, COUNTS)]
    far = [((-15.0, -10.0), 0.0, 9, COUNTS), ((-10.0, -20.0), 0.0, 9, COUNTS)]
    some = lists(right, near, far)
    for miss, margin, missed in ((0.0, 10.0, 0), (0.34, 4.0, 1), (0.67, 0.0, 2)):
        cascade = fit(some, Weighing(), ((0,), (1,)), miss)
        assert cascade == Cascade(Weighing(), ((0,), (1,)), (margin,))
        assert int(descend(some, cascade).missed.sum()) == missed
    # The wide margin leaves out the first list's second candidate alone.
    assert descend(some, fit(some, Weighing(), ((0,), (1,)), 0.0)).scored.tolist() == [1.0, 5 / 6]


@pytest.mark.parametrize("miss", [0.0, 0.01, 0.1, 1.0])
def test_no_more_is_missed_than_may_be(miss: float) -> None:
    some = random_lists(3, sentences=200, candidates=12, members=3)
    weighing = Weighing(0.7, member_weights=(0.5, 1.0, 1.5), token_bonus=0.1)
    cascade = fit(some, weighing, STAGES, miss)
    descent = descend(some, cascade)
    assert descent.missed.mean() <= miss
    if miss == 0:
        assert descent.f1 == corpus_f1(some.chosen(weighing))
        # Narrower by the least that is told apart, each would miss one.
        for stage in range(2):
            margins = [*cascade.margins]
            margins[stage] = max(0.0, margins[stage] - 0.02)
            assert descend(some, Cascade(weighing, STAGES, (margins[0], margins[1]))).missed.any()
    else:
        assert descent.missed.any()
    assert descent.scored[0] == 1 and (np.diff(descent.scored) <= 0).all()


def test_what_may_be_missed_is_divided_so_that_the_least_is_scored() -> None:
    some = random_lists(4, sentences=100, candidates=12, members=3)
    found = descend(some, fit(some, Weighing(), STAGES, 0.06)).scored.sum()
    rows, best = np.arange(100), some.best(Weighing())
    scores = _expected(some, Weighing(), STAGES[:1])
    behind = np.sort(scores.max(1) - scores[rows, best])[::-1]
    for first in range(7):  # the first stage misses so many, the second what is left of six
        margin = float(np.ceil(behind[first] * 100) / 100)
        tried = [
            descend(some, Cascade(Weighing(), STAGES, (margin, second)))
            for second in np.arange(0, 30, 0.25)
        ]
        assert min(one.scored.sum() for one in tried if one.missed.sum() <= 6) >= found - 0.02


def test_the_expectation_is_that_of_scoring() -> None:
    some = random_lists(5, sentences=20, candidates=6, members=3)
    weighing = Weighing()
    values = _expected(some, weighing, STAGES[:2])
    for place in zip(*np.nonzero(some.is_candidate), strict=True):
        known = {member: float(-some.members[place][member]) for member in (2, 0)}
        assert values[place] == pytest.approx(-sum(expected(known, 3)), abs=1e-4)
    assert (values[~some.is_candidate] == -np.inf).all()


def test_cross_validation_fits_without_what_it_tests() -> None:
    # One half needs a margin, the other none.
    easy = [((-10.0, -10.0), 0.0, 9, COUNTS), ((-20.0, -20.0), 0.0, 9, (0, 4, 4))]
    hard = [((-12.0, -10.0), 0.0, 9, COUNTS), ((-10.0, -20.0), 0.0, 9, (0, 4, 4))]
    some = lists(*[easy] * 5, *[hard] * 5)
    held_out = unseen(some, Weighing(), ((0,), (1,)), 0.0, 2)
    assert held_out.missed.tolist() == [False] * 5 + [True] * 5
    assert held_out.f1 == 50
    assert not unseen(some[:1], Weighing(), ((0,), (1,)), 0.0, 10).missed.any()
