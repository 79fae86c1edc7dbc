"""F1 along lines of weights, against trying the weights one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reranker.evaluation.brackets import corpus_f1
from reranker.plugins.tuning.weight_search import StepFunction, f1_along, f1_by_lm_weight, tune
from reranker.ranking import Weighing
from tests.reranker.plugins.tuning.tuned_lists import lists, random_lists

RIGHT, WRONG = (4, 4, 4), (0, 4, 4)


def test_a_line_by_hand() -> None:
    # Scores W * LM + (1 - W) * parser: 10 - 10 W, 8 and 12 W - 2. The second is best from W = 0.2,
    # the third from W = 10/12.
    one = [((0.0,), 10.0, 9, WRONG), ((8.0,), 8.0, 9, RIGHT), ((10.0,), -2.0, 9, (1, 4, 4))]
    line = f1_by_lm_weight(lists(one), Weighing())
    assert line.edges == pytest.approx([0, 0.2, 10 / 12, 1])
    assert line.f1 == pytest.approx([0, 100, 25])
    # A neighbourhood reaches 0.1 to both sides: the best are all of 0.3 .. 0.733; at the ends
    # there is less of it.
    assert line.best() == pytest.approx((0.517, 100), abs=0.001)
    assert line.smoothed(np.array([0.0, 0.2, 0.25, 1.0])) == pytest.approx([0, 50, 75, 25])
    assert line.smoothed(np.array([0.15])) == pytest.approx([25])


def test_a_narrow_peak_is_not_taken() -> None:
    # F1 is 90 on a hundredth of the line, 80 on a half elsewhere.
    line = StepFunction(np.array([0, 0.1, 0.11, 0.4, 0.9, 1]), np.array([70.0, 90, 70, 80, 70]))
    assert line.best() == pytest.approx((0.65, 80), abs=0.001)


@pytest.mark.parametrize("seed", range(5))
def test_a_line_agrees_with_every_point_tried(seed: int) -> None:
    some = random_lists(seed, sentences=30, candidates=12, members=1)
    line = f1_by_lm_weight(some, Weighing())
    assert len(line.f1) > 20  # there is something to compare
    middles = (line.edges[1:] + line.edges[:-1]) / 2
    steps = np.diff(line.edges)
    for middle, f1 in zip(middles[steps > 1e-6], line.f1[steps > 1e-6], strict=True):
        assert corpus_f1(some.chosen(Weighing(float(middle)))) == pytest.approx(f1)


def test_any_line() -> None:
    some = random_lists(9, sentences=20, candidates=8, members=1)
    random = np.random.default_rng(1)
    base, slope = random.normal(size=(2, *some.parser.shape))
    line = f1_along(some, base, slope, -2.0, 3.0)
    assert (line.edges[0], line.edges[-1]) == (-2.0, 3.0)
    for point in np.linspace(-1.99, 2.99, 50):
        scores = np.where(some.is_candidate, base + point * slope, -np.inf)
        counts = some.counts[np.arange(len(some)), scores.argmax(1)]
        place = np.searchsorted(line.edges, point) - 1
        assert line.f1[place] == pytest.approx(corpus_f1(counts))


def test_a_useless_member_is_weighed_down() -> None:
    # The first member is right by 1 nat, the second wrong by 2, so that their sum is wrong.
    right, wrong = ((-10.0, -12.0), -5.0, 9, RIGHT), ((-11.0, -10.0), -5.0, 9, WRONG)
    some = lists(*[[wrong, right]] * 3)
    assert corpus_f1(some.chosen(Weighing())) == 0
    found = tune(some, with_bonus=False, with_members=True)
    first, second = found.member_weights
    assert first > 2 * second  # the order that 1 * first > 2 * second demands
    assert first + second == pytest.approx(2, abs=0.001)
    assert corpus_f1(some.chosen(found)) == 100


def test_a_bonus_mends_what_short_trees_gain() -> None:
    # The models and the parser prefer the shorter tree by 3 nats; it has 6 tokens less.
    short, long = ((-10.0,), -10.0, 10, WRONG), ((-13.0,), -13.0, 16, RIGHT)
    some = lists(*[[short, long]] * 3)
    assert corpus_f1(some.chosen(tune(some, False, False))) == 0
    found = tune(some, with_bonus=True, with_members=False)
    # W * (-3 + 6 bonus) - (1 - W) * 3 > 0
    assert found.lm_weight * (6 * found.token_bonus - 3) > 3 * (1 - found.lm_weight)
    assert corpus_f1(some.chosen(found)) == 100


@pytest.mark.parametrize(("with_bonus", "with_members"), [(False, False), (True, True)])
def test_without_parser_scores_the_models_keep_their_weight(
    with_bonus: bool, with_members: bool
) -> None:
    some = random_lists(4, sentences=25, candidates=6, members=2)
    some = replace(some, parser=np.full_like(some.parser, np.nan))
    found = tune(some, with_bonus, with_members)
    assert found.lm_weight == 1
    if with_members:
        assert corpus_f1(some.chosen(found)) >= corpus_f1(some.chosen(Weighing()))
    else:
        assert found == Weighing()


def test_more_weights_fit_no_worse_and_the_same_twice() -> None:
    some = random_lists(11, sentences=60, candidates=10, members=3)
    few, many = tune(some, False, False), tune(some, True, True)
    assert corpus_f1(some.chosen(many)) > corpus_f1(some.chosen(few))
    assert sum(many.member_weights) == pytest.approx(3, abs=0.001)
    assert tune(some, True, True) == many
