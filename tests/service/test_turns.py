"""Start-time fair queueing, by hand."""

from __future__ import annotations

from reranker.service.turns import Turns


def shares(turns: Turns[str], amounts: dict[str, float], times: int) -> list[str]:
    """Whose turn it is, so many times in a row."""
    order = []
    for _ in range(times):
        who = min(amounts, key=turns.given)
        turns.give(who, amounts[who])
        order.append(who)
    return order


def test_equal_shares_whatever_is_asked_for() -> None:
    turns: Turns[str] = Turns()
    for who in ("large", "small"):
        turns.join(who)
    assert shares(turns, {"large": 4, "small": 1}, 10) == ["large", *["small"] * 4] * 2


def test_newcomers_start_where_the_others_are() -> None:
    turns: Turns[str] = Turns()
    turns.join("old")
    shares(turns, {"old": 10}, 5)
    turns.join("new")
    assert turns.given("new") == turns.given("old") == 50
    turns.join("ahead", 30)
    assert shares(turns, {"old": 10, "ahead": 10}, 4) == ["ahead"] * 3 + ["old"]


def test_what_who_left_had_is_remembered_until_others_have_as_much() -> None:
    turns: Turns[str] = Turns()
    for who in ("a", "b"):
        turns.join(who)
    turns.give("a", 40)
    turns.leave("a", 10)
    turns.join("a", 10)
    assert turns.given("a") == 40
    turns.leave("a", 10)
    turns.give("b", 60)
    turns.join("a", 10)
    assert turns.given("a") == 50


def test_nobody_is_remembered_for_ever() -> None:
    turns: Turns[str] = Turns()
    turns.join("b")
    for number in range(100):
        turns.join(f"a{number}")
        turns.give(f"a{number}", 1)
        turns.leave(f"a{number}", 1)
        turns.give("b", 5)
    assert len(turns._gone) < 5
