"""Cascades: what is one, for which weighing it holds, what is expected of models not asked yet."""

from __future__ import annotations

import pytest

from reranker.cascade import Cascade, expected
from reranker.errors import RerankError
from reranker.ranking import Weighing


@pytest.mark.parametrize(
    ("stages", "margins", "reason"),
    [
        (((0,), (2,)), (1.0,), "must name every member exactly once"),
        (((0,), (0, 1)), (1.0,), "must name every member exactly once"),
        (((0,), ()), (1.0,), "must name every member exactly once"),
        (((0, 1),), (), "one for each stage but the last"),
        (((0,), (1,)), (1.0, 2.0), "one for each stage but the last"),
        (((0,), (1,)), (-1.0,), "must be numbers of at least 0"),
        (((0,), (1,)), (float("nan"),), "must be numbers of at least 0"),
        (((0,), (1,)), (float("inf"),), "must be numbers of at least 0"),
    ],
)
def test_what_is_no_cascade(
    stages: tuple[tuple[int, ...], ...], margins: tuple[float, ...], reason: str
) -> None:
    with pytest.raises(RerankError, match=reason):
        Cascade(Weighing(), stages, margins)


@pytest.mark.parametrize(
    ("used", "holds"),
    [
        (Weighing(0.5, member_weights=(0.5, 1.5)), True),
        (Weighing(0.25, member_weights=(0.5, 1.5)), True),
        (Weighing(0.75, member_weights=(0.5, 1.5)), False),
        (Weighing(0.5), False),
        (Weighing(0.5, "token-perplexity", (0.5, 1.5)), False),
        (Weighing(0.5, member_weights=(0.5, 1.5), token_bonus=0.25), False),
    ],
)
def test_it_holds_for_its_weighing_and_less_of_the_models(used: Weighing, holds: bool) -> None:
    cascade = Cascade(Weighing(0.5, member_weights=(0.5, 1.5)), ((1,), (0,)), (3.5,))
    assert cascade.holds_for(used) is holds


def test_what_is_not_known_is_the_mean_of_what_is() -> None:
    assert expected({1: 3.0}, 3) == (3.0, 3.0, 3.0)
    assert expected({2: 3.0, 0: 5.0}, 3) == (5.0, 4.0, 3.0)


def test_signature() -> None:
    cascade = Cascade(Weighing(), ((2,), (0, 1)), (3.5,))
    assert cascade.signature() == "cascade=2/0+1 margins=3.5"
