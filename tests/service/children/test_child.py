"""The protocol with a child: requests, replies, cancelling, pausing, hanging, ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reranker.errors import RerankError
from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import Child
from reranker.service.errors import Lost, RequestError
from tests.checkout import before_python_path
from tests.waiting import PATIENCE, until

ENDLESS = 10**9

# A module of the child's package that is not there: it is made when the child starts.
COUNTING = """
import importlib.machinery, os, sys, time
if any(word.endswith(".counting_main") for word in sys.orig_argv):
    import runpy
    real = runpy._run_module_as_main
    def run(name, *given, **options):
        from reranker.errors import InputError
        from reranker.service.children.child import serve
        from reranker.service.errors import RequestError
        def count(request):
            what = request.value
            if what == "refuse":
                raise RequestError(422, "odd", "no", "field")
            if what == "wrong":
                raise InputError("a file is wrong")
            if what == "raise":
                raise ValueError("secret")
            if what == "memory":
                raise MemoryError
            if what == "garbage":
                os.write(int(sys.argv[1]), b"\\0\\0\\0\\3abc")
                time.sleep(3600)
            if what == "hang":
                time.sleep(3600)
            for number in request.until_cancelled(range(what)):
                request.progress(number)
                time.sleep(0.001)
            return what
        serve(lambda start: [count] * start)
    runpy._run_module_as_main = run
"""


@pytest.fixture
def make(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[Child, list[Lost]]]]:
    """Yield a maker of children that count, a number a millisecond, in two lanes, and the reasons
    of their ends."""
    (tmp_path / "sitecustomize.py").write_text(COUNTING)
    monkeypatch.setenv("PYTHONPATH", before_python_path(str(tmp_path)))
    children: list[Child] = []

    def child(heartbeat: float = PATIENCE) -> tuple[Child, list[Lost]]:
        ended: list[Lost] = []
        children.append(Child("counting", 2, heartbeat, ended=ended.append))
        return children[-1], ended

    yield child
    for each in children:
        each.close()


class Counting:
    """A request, and the numbers that have come so far; then its outcome."""

    def __init__(self, child: Child, most: Any, lane: int = 0, **options: Any) -> None:
        self.cancellation, self.seen = Cancellation(), list[int]()
        self.outcome: Any = None
        arguments = (most, self.cancellation, lane)
        self._thread = threading.Thread(target=self._run, args=(child, arguments, options))
        self._thread.start()

    def _run(self, child: Child, arguments: Any, options: Any) -> None:
        try:
            for is_last, value in child.started().replies(*arguments, **options):
                if is_last:
                    self.outcome = value
                else:
                    self.seen.append(value)
        except BaseException as error:
            self.outcome = error

    def wait(self) -> None:
        """Wait until the child has counted on."""
        count = len(self.seen)
        until(lambda: len(self.seen) > count)

    def rest(self) -> None:
        """Wait until the child counts no further for a while."""
        count = -1
        while count < len(self.seen):
            count = len(self.seen)
            time.sleep(0.3)

    def end(self) -> Any:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.outcome


Make = Callable[..., tuple[Child, list[Lost]]]


def test_a_pause_reaches_the_child(make: Make) -> None:
    child, _ = make()
    asked = Counting(child, ENDLESS)
    asked.wait()
    asked.cancellation.pause()
    asked.rest()
    asked.cancellation.resume()
    asked.wait()
    assert asked.seen == [*range(len(asked.seen))]
    asked.cancellation.pause()
    asked.cancellation.cancel()  # paused work can be stopped
    assert isinstance(asked.end(), Stopped)
    assert Counting(child, 3).end() == 3


def test_lanes_serve_side_by_side_and_replies_find_their_requests(make: Make) -> None:
    child, _ = make()
    long = Counting(child, ENDLESS)
    long.wait()
    others = [Counting(child, number, lane=1) for number in range(5)]
    assert [other.end() for other in others] == [*range(5)]
    assert [other.seen for other in others] == [[*range(number)] for number in range(5)]
    long.cancellation.cancel()
    assert isinstance(long.end(), Stopped)


def test_what_is_raised_there_is_raised_here(make: Make) -> None:
    child, ended = make()
    refused = Counting(child, "refuse").end()
    assert isinstance(refused, RequestError) and str(refused) == "no"
    assert (refused.status, refused.code, refused.param) == (422, "odd", "field")
    wrong = Counting(child, "wrong").end()
    assert isinstance(wrong, RerankError) and str(wrong) == "a file is wrong"
    assert isinstance(Counting(child, "memory").end(), MemoryError)
    failed = Counting(child, "raise").end()
    assert isinstance(failed, Lost) and failed.description["error"] == "ValueError"
    assert failed.description["message"] == "secret" and "secret" not in str(failed)
    assert not ended


def test_a_child_that_dies_is_started_again(make: Make) -> None:
    child, ended = make()
    asked = Counting(child, ENDLESS)
    asked.wait()
    assert child.process is not None
    os.kill(child.process.pid, signal.SIGKILL)
    lost = asked.end()
    assert isinstance(lost, Lost) and lost.signal == signal.SIGKILL and not lost.has_hung
    until(lambda: ended)
    assert Counting(child, 3).end() == 3


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_stopped_child_is_killed(make: Make, is_busy: bool) -> None:
    child, ended = make(heartbeat=1)
    assert Counting(child, 3).end() == 3
    asked = Counting(child, ENDLESS) if is_busy else None
    if asked is not None:
        asked.wait()
    assert child.process is not None
    os.kill(child.process.pid, signal.SIGSTOP)
    until(lambda: ended)
    assert ended[0].has_hung and (asked is None or isinstance(asked.end(), Lost))
    assert Counting(child, 3).end() == 3


def test_a_child_that_sends_garbage_is_killed(make: Make) -> None:
    child, ended = make()
    lost = Counting(child, "garbage").end()
    assert isinstance(lost, Lost) and "not a message" in str(lost)
    until(lambda: ended)
    assert Counting(child, 3).end() == 3


def test_only_what_is_watched_has_to_make_progress(make: Make) -> None:
    """It beats all the while."""
    child, ended = make(heartbeat=1)
    slow = Counting(child, "hang")
    watched = Counting(child, ENDLESS, lane=1, is_watched=True)
    watched.wait()
    time.sleep(2.5)
    watched.wait()
    assert not ended
    watched.cancellation.pause()
    time.sleep(2.5)
    assert not ended
    watched.cancellation.cancel()
    assert isinstance(watched.end(), Stopped)
    hanging = Counting(child, "hang", lane=1, is_watched=True)
    lost = hanging.end()
    assert isinstance(lost, Lost) and lost.has_hung
    assert isinstance(slow.end(), Lost)


def test_whoever_does_not_even_notice_a_cancellation(make: Make) -> None:
    child, _ = make()
    asked = Counting(child, "hang", patience=0.2)
    until(lambda: child.process is not None)
    asked.cancellation.cancel()
    assert isinstance(asked.end(), TimeoutError)


def test_a_child_ends_with_its_parent() -> None:
    """However that ends: its pipe closes."""
    code = (
        "import os, signal; from reranker.service.children.child import Child\n"
        "child = Child('reading', None, 60)\n"
        "print(child.started().pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid = int(done.stdout)

    def is_gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(is_gone)
