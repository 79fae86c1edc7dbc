"""Start-time fair queueing, by hand."""

from __future__ import annotations

import time

import pytest

from reranker.service.scheduling.fair_queue import Turns


def shares(turns: Turns[str], amounts: dict[str, float], times: int) -> list[str]:
    """Return the clients served, so many times in a row."""
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


def test_who_left_has_what_it_had_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    turns: Turns[str] = Turns()
    for who in ("a", "b"):
        turns.join(who)
    turns.give("a", 40)
    turns.leave("a", will_be_back=True)
    clock += 9
    turns.join("a", 10)
    assert turns.given("a") == 40
    turns.leave("a", will_be_back=True)
    clock += 11
    turns.join("a", 10)
    assert turns.given("a") == -10


def test_who_asks_little_while_nobody_else_does_stays_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second's work is 10: one that asks for 2 a second has as much ahead as a newcomer."""
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    turns: Turns[str] = Turns()
    for _ in range(5):
        turns.join("often", 10)
        turns.give("often", 2)
        turns.leave("often", will_be_back=True)
        clock += 1
    for who in ("often", "new"):
        turns.join(who, 10)
    assert turns.given("often") == turns.given("new")


def test_nobody_is_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    turns: Turns[str] = Turns()
    for number in range(1000):
        clock += 0.5
        turns.join(f"a{number}", 10)
        turns.give(f"a{number}", 1)
        turns.leave(f"a{number}", will_be_back=True)
    assert len(turns._gone) < 25
