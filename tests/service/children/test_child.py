"""Orders to another process, and what is said of them while they are carried out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from typing import Any

import pytest

from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import MORE, _answer, replies
from tests.waiting import PATIENCE, until

ENDLESS = 10**9


class Counter:
    """Carries out orders to count, a number a millisecond, as the scoring process would; what is
    said too late, it passes over."""

    def __init__(self) -> None:
        self.line, theirs = Pipe()
        self.seen: list[int] = []
        self._thread = threading.Thread(target=self._run, args=(theirs,), daemon=True)
        self._thread.start()

    def _run(self, line: Connection) -> None:
        while order := line.recv():
            if isinstance(order, int):
                _answer(line, order, self._count)

    def _count(self, most: int, cancellation: Cancellation) -> Iterator[tuple[str, Any]]:
        self.seen.clear()
        self._hearing = cancellation
        yield MORE, "begun"
        try:
            for number in Cancellation(cancellation).checked(range(most)):
                self.seen.append(number)
                time.sleep(0.001)
        except Stopped:
            yield "stopped", None
        else:
            yield "done", len(self.seen)

    def wait(self) -> None:
        """Until it has counted on."""
        count = len(self.seen)
        until(lambda: len(self.seen) > count)

    def rest(self) -> None:
        """Once it has heard of the pause, it counts no further, but for a number that it was at."""
        until(lambda: self._hearing.is_paused)
        count = len(self.seen)
        time.sleep(0.1)
        assert len(self.seen) <= count + 1


@pytest.fixture
def counter() -> Iterator[Counter]:
    made = Counter()
    yield made
    made.line.send(None)


class Asked:
    """An order, and its last reply once it is there."""

    def __init__(self, counter: Counter, most: int) -> None:
        self.cancellation = Cancellation()
        self.all: list[tuple[str, Any]] = []
        order = (counter.line, most, self.cancellation)
        self._thread = threading.Thread(target=lambda: self.all.extend(replies(*order)))
        self._thread.start()

    def reply(self) -> tuple[str, Any]:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive() and self.all[0] == (MORE, "begun")
        return self.all[-1]


def test_a_pause_reaches_the_other_side(counter: Counter) -> None:
    asked = Asked(counter, ENDLESS)
    counter.wait()
    asked.cancellation.pause()
    counter.rest()
    asked.cancellation.go_on()
    counter.wait()
    assert counter.seen == [*range(len(counter.seen))]
    asked.cancellation.cancel()
    assert asked.reply() == ("stopped", None)


def test_what_is_paused_can_be_stopped(counter: Counter) -> None:
    asked = Asked(counter, ENDLESS)
    counter.wait()
    asked.cancellation.pause()
    counter.rest()
    asked.cancellation.cancel()
    assert asked.reply() == ("stopped", None)


def test_an_order_has_nothing_of_the_one_before(counter: Counter) -> None:
    """What was said of that when it had ended is passed over."""
    for word in (("pause",), ("go on",), ("stop",)):
        assert Asked(counter, 3).reply() == ("done", 3)
        counter.line.send(word)
    paused = Asked(counter, ENDLESS)
    counter.wait()
    paused.cancellation.pause()
    counter.rest()
    paused.cancellation.cancel()
    assert paused.reply() == ("stopped", None)
    assert Asked(counter, 3).reply() == ("done", 3)
