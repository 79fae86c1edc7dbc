"""The confidence in a choice, worked out by hand, and cases without one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from reranker import Reranker
from reranker.errors import RerankError
from reranker.nbest import Candidate, NBest
from reranker.ranking import Ranking, Scored, Weighing, rank
from reranker.ranking.confidence import Calibration, features
from tests.reranker.ensembles import CANDIDATES, untrained

KNOWN = Calibration(Weighing(), math.log(3), (1.0, 0.5))


def ranking(
    *candidates: tuple[tuple[float, ...], float | None],
    weighing: Weighing = Weighing(),
) -> Ranking:
    """Return a ranking of candidates (log-probability by member, parser's)."""
    scores = [
        Scored(-math.fsum(parts), 1.0, 9, 0, None, member_nll=tuple(-part for part in parts))
        for parts, _ in candidates
    ]
    listed = [
        Candidate(place, f"(S {place})", ("x",), parser, place)
        for place, (_, parser) in enumerate(candidates)
    ]
    return rank(NBest("s", tuple(listed), (), 1), scores, weighing)


def test_by_hand() -> None:
    # The members prefer the second tree by e - 1 and 8 nats, the parser the first by e^2 - 1: log
    # odds are log 3 + 1 * log e - 0.5 * log e^2 = log 3, and the probability is 3 of 3 + 1.
    assert features([math.e - 1, 8.0], 1 - math.e**2) == pytest.approx((1, -2))
    first, second = ((-20.0, -20.0), -5.0), ((math.e - 21, -12.0), -4 - math.e**2)
    assert KNOWN.better_than_first(ranking(first, second), Weighing()) == 0.75
    # A member that does not like the choice makes it less likely: log 3 - 1 - 1, odds 3 / e^2.
    disliked = ((-19 - math.e, -2.0), -4 - math.e**2)
    assert KNOWN.better_than_first(ranking(first, disliked), Weighing()) == pytest.approx(
        3 / (3 + math.e**2), abs=5e-5
    )


def test_what_only_one_member_says() -> None:
    alone = ranking(((-20.0,), -5.0), ((math.e - 21,), -4 - math.e**2))
    assert alone.ranking[0].member_nll == ()
    assert KNOWN.better_than_first(alone, Weighing()) == 0.75


def test_where_nothing_can_be_said() -> None:
    good, bad = ((-1.0, -1.0), -5.0), ((-9.0, -9.0), -6.0)
    chosen = ranking(bad, good)
    assert KNOWN.better_than_first(chosen, Weighing()) is not None
    for other in (
        ranking(good, bad),  # the best is the parser's first
        ranking(),
        replace(chosen, ranking=chosen.ranking[:1]),  # the parser's first was rejected
        ranking((bad[0], None), good),
        ranking(bad, (good[0], None)),
    ):
        assert KNOWN.better_than_first(other, Weighing()) is None
    others = (
        Weighing(1.0, "token-perplexity"),
        Weighing(token_bonus=0.1),
        Weighing(member_weights=(0.5, 1.5)),
    )
    for weighing in others:
        assert KNOWN.better_than_first(chosen, weighing) is None
    # Which weight chose matters little, given the scores.
    assert KNOWN.better_than_first(chosen, Weighing(0.9)) == KNOWN.better_than_first(
        chosen, Weighing()
    )


def test_scores_may_be_any_number() -> None:
    first, second = ((-1.7e308,), 1.7e308), ((-1.0,), -1.7e308)
    for signs in ((1.0, 1.0), (0.0, 0.0), (-900.0, -900.0)):
        known = Calibration(Weighing(), 0.0, signs)
        probability = known.better_than_first(ranking(first, second), Weighing())
        assert probability is not None and 0 <= probability <= 1


def test_coefficients_that_make_no_sense() -> None:
    with pytest.raises(RerankError, match="1 coefficients, not 2"):
        Calibration(Weighing(), 0.0, (1.0,))
    with pytest.raises(RerankError, match="a coefficient is nan"):
        Calibration(Weighing(), 0.0, (1.0, math.nan))


def test_it_is_told_and_changes_nothing_else() -> None:
    members = [untrained(1), untrained(2)]
    plain, sure = Reranker(members), Reranker(members, calibration=KNOWN)
    parser = [-30.5, -31.0, -30.0, -32.0, -33.0, -30.25]
    told = []
    # Every candidate is the parser's first once.
    for turn in range(len(CANDIDATES)):
        trees = [*CANDIDATES[turn:], *CANDIDATES[:turn]]
        expected, found = plain.rerank(trees, parser), sure.rerank(trees, parser)
        assert expected.better_than_first is None
        assert replace(found, better_than_first=None) == expected
        assert found.better_than_first == KNOWN.better_than_first(expected, Weighing())
        told.append(found.better_than_first)
        for top in (1 + turn, len(trees) - turn):
            (few,) = sure.rerank_lists([sure_list(trees, parser)], top=top)
            assert (few.better_than_first, few.margin) == (found.better_than_first, found.margin)
        other = sure.rerank(trees, parser, lm_weight=0.5)
        assert other.better_than_first == KNOWN.better_than_first(other, Weighing(0.5))
        per_token = Weighing(criterion="token-perplexity")
        assert sure.rerank(trees, parser, per_token).better_than_first is None
    assert None in told and any(told)


def sure_list(trees: list[str], parser: list[float]) -> NBest:
    from reranker.nbest import from_candidates

    return from_candidates(trees, parser)
