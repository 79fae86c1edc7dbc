"""Orders to another process, and what is said of them while they are carried out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from typing import Any

import pytest

from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.service.lines import MORE, _answer, replies

SECONDS = 60  # at most for what should happen at once


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
        count, end = len(self.seen), time.monotonic() + SECONDS
        while len(self.seen) == count:
            assert time.monotonic() < end
            time.sleep(0.001)

    def rest(self) -> None:
        """It counts nothing."""
        time.sleep(0.1)
        count = len(self.seen)
        time.sleep(0.1)
        assert len(self.seen) == count


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
        self._thread.join(SECONDS)
        assert not self._thread.is_alive() and self.all[0] == (MORE, "begun")
        return self.all[-1]


def test_a_pause_reaches_the_other_side(counter: Counter) -> None:
    asked = Asked(counter, 300)
    counter.wait()
    asked.cancellation.pause()
    counter.rest()
    asked.cancellation.go_on()
    assert asked.reply() == ("done", 300)


def test_what_is_paused_can_be_stopped(counter: Counter) -> None:
    asked = Asked(counter, 100_000)
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
    paused = Asked(counter, 100)
    counter.wait()
    paused.cancellation.pause()
    counter.rest()
    paused.cancellation.cancel()
    assert paused.reply() == ("stopped", None)
    assert Asked(counter, 3).reply() == ("done", 3)
