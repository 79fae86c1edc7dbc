"""Start-time fair queueing, by hand."""

from __future__ import annotations

import time

import pytest

from reranker.service.scheduling.fair_queue import FairOrder


def shares(order: FairOrder[str], amounts: dict[str, float], times: int) -> list[str]:
    """Return the clients served, so many times in a row."""
    clients = []
    for _ in range(times):
        who = min(amounts, key=order.served)
        order.serve(who, amounts[who])
        clients.append(who)
    return clients


def test_equal_shares_whatever_is_asked_for() -> None:
    order: FairOrder[str] = FairOrder()
    for who in ("large", "small"):
        order.join(who)
    assert shares(order, {"large": 4, "small": 1}, 10) == ["large", *["small"] * 4] * 2


def test_newcomers_start_where_the_others_are() -> None:
    order: FairOrder[str] = FairOrder()
    order.join("old")
    shares(order, {"old": 10}, 5)
    order.join("new")
    assert order.served("new") == order.served("old") == 50
    order.join("ahead", 30)
    assert shares(order, {"old": 10, "ahead": 10}, 4) == ["ahead"] * 3 + ["old"]


def test_who_left_has_what_it_had_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    order: FairOrder[str] = FairOrder()
    for who in ("a", "b"):
        order.join(who)
    order.serve("a", 40)
    order.leave("a", will_be_back=True)
    clock += 9
    order.join("a", 10)
    assert order.served("a") == 40
    order.leave("a", will_be_back=True)
    clock += 11
    order.join("a", 10)
    assert order.served("a") == -10


def test_who_asks_little_while_nobody_else_does_stays_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second's work is 10: one that asks for 2 a second has as much ahead as a newcomer."""
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    order: FairOrder[str] = FairOrder()
    for _ in range(5):
        order.join("often", 10)
        order.serve("often", 2)
        order.leave("often", will_be_back=True)
        clock += 1
    for who in ("often", "new"):
        order.join(who, 10)
    assert order.served("often") == order.served("new")


def test_nobody_is_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    order: FairOrder[str] = FairOrder()
    for number in range(1000):
        clock += 0.5
        order.join(f"a{number}", 10)
        order.serve(f"a{number}", 1)
        order.leave(f"a{number}", will_be_back=True)
    assert len(order._gone) < 25
