"""A child process, and the numbered messages to and from it.

Threads of one interpreter delay each other, so long work has an interpreter of its own.
One pipe leads to each child, and every message on it is a tuple:

===================================  ==========================================================
to the child                         from the child
===================================  ==========================================================
``"start", value`` (the first)       ``"progress", number, value``: part of what was asked for
``"request", number, lane, value``   ``"reply", number, value``: the last; an exception is raised
``"cancel", number``                 ``"beat", {number: looks}``: the child runs, and how often
``"pause", number``                  each request has looked whether it was cancelled
``"resume", number``
===================================  ==========================================================

A child has lanes: threads, each of which serves one request after another. A child is killed if no
message comes from it for ``heartbeat`` seconds, or if a request that is watched has not looked at
its cancellation for the same time. Requests that wait for a reply then raise ``Lost``, and the next
request starts another child. A child ends when its pipe closes: none outlives the service.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn

from reranker.errors import RerankError, lacks_memory
from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.errors import Lost, RequestError, described

# Variables that no child gets, since children read the bytes of strangers.
_SECRETS = frozenset({"RERANK_API_KEYS", "RERANK_ADMIN_KEYS"})

# How often to look whether the request has been cancelled or paused.
_LOOKING_SECONDS = 0.02

# How long to wait for a child to end by itself.
_ENDING_SECONDS = 0.5

# A child beats this often, and at least four times in ``heartbeat`` seconds.
_BEATING_SECONDS = 1.0

# How long a child may take until its first beat: it imports modules before.
_STARTING_SECONDS = 180.0


class Child:
    """A child process that runs ``reranker.service.children.NAME_main``; it is started again
    whenever a request needs it."""

    def __init__(
        self,
        name: str,
        start: object,
        heartbeat: float,
        niceness: int = 0,
        ended: Callable[[Lost], None] = lambda why: None,
    ) -> None:
        """Describe a child: ``start`` is the first message to the process, and ``ended`` is called,
        in a thread, whenever the process has ended without being asked to."""
        self._name, self._start_value, self._niceness = name, start, niceness
        self._heartbeat, self._ended = heartbeat, ended
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_closed = False

    @property
    def process(self) -> _Process | None:
        """Return the process; None if it has not been started, or has ended."""
        process = self._process
        return process if process is not None and process.is_running else None

    @property
    def memory(self) -> float:
        """Return the bytes that the process holds in RAM."""
        process = self.process
        return 0.0 if process is None else resident_memory(process.pid)

    def started(self) -> _Process:
        """Return the process, which is started unless it runs. Raises Lost once the child is
        closed."""
        if (running := self.process) is not None:
            return running
        with self._lock:
            if self._is_closed:
                raise Lost("the service is stopping")
            if (running := self.process) is not None:
                return running
            try:
                made = _Process(self._name, self._heartbeat, self._niceness, self._ended)
            except OSError as error:
                raise Lost(f"no child process can be started: {error.strerror}") from error
            made.send("start", self._start_value)
            self._process = made
            return made

    def end(self) -> None:
        """End the process; the next request starts another."""
        if self._process is not None:
            self._process.end()

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._is_closed = True
        self.end()


class _Process:
    """One run of a child, as the service sees it."""

    def __init__(
        self, name: str, heartbeat: float, niceness: int, ended: Callable[[Lost], None]
    ) -> None:
        self._heartbeat, self._ended = heartbeat, ended
        self._pipe, theirs = Pipe()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._is_asked_to_end = self._has_hung = self._is_over = False
        self._why: Lost | None = None
        beat = min(_BEATING_SECONDS, heartbeat / 4)
        module = f"reranker.service.children.{name}_main"
        # What a terminal sends is for the service alone: hence a process group.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(beat)],
            stdin=subprocess.DEVNULL,
            env={name: text for name, text in os.environ.items() if name.upper() not in _SECRETS},
            pass_fds=[theirs.fileno()],
            process_group=0,
        )
        theirs.close()
        self.pid = self._process.pid
        with contextlib.suppress(OSError):  # it has ended again
            own = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, self.pid, own + niceness)
        threading.Thread(None, self._receive, f"{name} child", daemon=True).start()

    @property
    def is_running(self) -> bool:
        # poll() alone is not enough: while another thread waits for the status, it returns None.
        return not self._is_over and self._process.poll() is None

    def send(self, *message: object) -> None:
        """Send a message; raises Lost if the process has ended."""
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError:
            raise self._lost() from None

    def replies(
        self,
        value: object,
        cancellation: Cancellation | None = None,
        lane: int = 0,
        is_watched: bool = False,
        patience: float = math.inf,
    ) -> Iterator[tuple[bool, Any]]:
        """Yield the parts of a request's answer, each with False, then the reply with True. The
        request's cancellation and its pauses are passed on to the child.

        Raises Lost if the child ends or the request fails there, and the child's errors: Stopped,
        RequestError, RerankError and MemoryError. Raises TimeoutError if the request was cancelled
        and no message came back for ``patience`` seconds.
        """
        cancellation = cancellation or Cancellation()
        number, waiting = next(self._numbers), _Waiting(is_watched)
        self._waiting[number] = waiting
        is_cancelled, until, is_done = False, math.inf, False
        try:
            self.send("request", number, lane, value)
            while not is_done:
                # Looked at between replies, too: they may come without a gap.
                if cancellation.is_cancelled and not is_cancelled:
                    self.send("cancel", number)
                    is_cancelled, until = True, time.monotonic() + patience
                elif cancellation.is_paused != waiting.is_paused and not is_cancelled:
                    waiting.pause(cancellation.is_paused)
                    self.send("pause" if waiting.is_paused else "resume", number)
                try:
                    is_done, answer = waiting.replies.get(timeout=_LOOKING_SECONDS)
                except queue.Empty:
                    if self._why is not None:
                        raise self._why from None
                    if time.monotonic() > until:
                        raise TimeoutError from None
                    continue
                if isinstance(answer, BaseException):
                    try:
                        raise answer
                    finally:
                        del answer  # it refers to itself, and so would keep the caller's objects
                yield is_done, answer
        finally:
            del self._waiting[number]
            if not is_done:
                with contextlib.suppress(Lost):
                    self.send("cancel", number)

    def reply(self, *request: Any, **options: Any) -> Any:
        """Return the reply to a request that has no parts."""
        ((_, value),) = self.replies(*request, **options)
        return value

    def end(self) -> None:
        self._is_asked_to_end = True
        self._process.kill()
        self._process.wait()

    def _receive(self) -> None:
        """Pass on the child's messages, in a thread, until the child ends; kill a child that
        hangs."""
        until = time.monotonic() + max(self._heartbeat, _STARTING_SECONDS)
        try:
            while True:
                if self._pipe.poll(self._heartbeat / 4):
                    self._take(*self._pipe.recv())
                    until = time.monotonic() + self._heartbeat
                if time.monotonic() > until or self._hangs():
                    self._has_hung = True
                    self._process.kill()
        except (EOFError, OSError):
            pass
        except Exception:  # bytes that are not a message can make pickle raise anything
            self._process.kill()
            self._why = Lost("a child process sent something that is not a message and was killed")
        self._is_over = True
        self._why = self._lost()  # requests that wait for a reply look at it
        with self._sending:
            self._pipe.close()
        self._process.kill()
        self._process.wait()
        if not self._is_asked_to_end:
            self._ended(self._why)

    def _take(self, what: str, *values: Any) -> None:
        if what == "beat":
            for number, looks in values[0].items():
                if waiting := self._waiting.get(number):
                    waiting.see(looks)
        elif waiting := self._waiting.get(values[0]):
            waiting.replies.put((what == "reply", values[1]))

    def _hangs(self) -> bool:
        now = time.monotonic()
        waiting = list(self._waiting.values())
        return any(each.seconds_without_progress(now) > self._heartbeat for each in waiting)

    def _lost(self) -> Lost:
        """Return the way in which the process ended, or is about to end."""
        if self._why is not None:
            return self._why
        if self._has_hung:
            lost = Lost(
                f"a child process made no progress for {self._heartbeat:g} s and was killed"
            )
            lost.has_hung = True
            return lost
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_ENDING_SECONDS)
        if status is not None and status < 0:
            why = " (perhaps for lack of memory)" if status == -signal.SIGKILL else ""
            lost = Lost(f"a child process was ended by {signal.Signals(-status).name}{why}")
            lost.signal = -status
            return lost
        return Lost(f"a child process ended with status {status}")


class _Waiting:
    """A request whose reply has not come yet."""

    def __init__(self, is_watched: bool) -> None:
        self.replies: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        self.is_paused = False
        self._is_watched, self._looks = is_watched, -1
        self._since: float | None = None  # when it last made progress, once it has begun

    def pause(self, is_paused: bool) -> None:
        self.is_paused = is_paused
        self._since = None

    def see(self, looks: int) -> None:
        if looks != self._looks or self._since is None:
            self._looks, self._since = looks, time.monotonic()

    def seconds_without_progress(self, now: float) -> float:
        if not self._is_watched or self.is_paused or self._since is None:
            return 0.0
        return now - self._since


def resident_memory(process: int | str = "self") -> float:
    """Return the bytes of a process in RAM, or 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except OSError:  # not on Linux, or ended
        return 0.0
    return float(pages) * os.sysconf("SC_PAGE_SIZE")


# What follows runs in the child.


class Request(Cancellation):
    """A request in the child; the service can cancel and pause it."""

    def __init__(self, number: int, value: Any, send: Callable[..., None]) -> None:
        super().__init__()
        self.number, self.value = number, value
        self.looks = 0
        """How often the computation has checked whether it should stop: a sign of progress."""
        self._send = send

    @property
    def is_cancelled(self) -> bool:
        self.looks += 1
        return super().is_cancelled

    def progress(self, value: object) -> None:
        """Send a part of the answer."""
        self._send("progress", self.number, value)


_OBEY = {"cancel": Request.cancel, "pause": Request.pause, "resume": Request.resume}

Lane = Callable[[Request], object]
"""A function that serves a request: it returns the reply, or raises the service's error."""


def serve(
    make_lanes: Callable[[Any], Sequence[Lane]],
    after: Callable[[], None] = lambda: None,
) -> NoReturn:
    """Serve the requests of the service until its pipe closes; then end the process, even if
    threads are busy. ``make_lanes`` gets the value that the child is started with; ``after`` is
    called after each request."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # for the service, which then ends its children
    logging.disable()  # the text of users belongs in no log
    pipe, beat = Connection(int(sys.argv[1])), float(sys.argv[2])
    status = 1
    try:
        _Serving(pipe, beat, after).run(make_lanes)
    except (EOFError, ConnectionError):
        status = 0
    finally:
        os._exit(status)  # without a traceback, which could quote users


class _Serving:
    def __init__(self, pipe: Connection, beat: float, after: Callable[[], None]) -> None:
        self._pipe, self._beat, self._after = pipe, beat, after
        self._sending = threading.Lock()
        self._requests: dict[int, Request] = {}
        self._running: dict[int, Request] = {}

    def run(self, make_lanes: Callable[[Any], Sequence[Lane]]) -> None:
        _, start = self._pipe.recv()
        lanes = make_lanes(start)
        threading.Thread(target=self._beat_on, daemon=True).start()
        queues: list[queue.SimpleQueue[Request]] = []
        for lane in lanes:
            queues.append(queue.SimpleQueue())
            threading.Thread(target=self._serve, args=(lane, queues[-1]), daemon=True).start()
        while True:
            match self._pipe.recv():
                case "request", number, lane, value:
                    request = self._requests[number] = Request(number, value, self._send)
                    queues[lane].put(request)
                    del request, value
                case word, number:
                    if asked := self._requests.get(number):  # else it has been replied to
                        _OBEY[word](asked)

    def _beat_on(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                running = list(self._running.items())
                self._send("beat", {number: request.looks for number, request in running})
                time.sleep(self._beat)

    def _serve(self, lane: Lane, requests: queue.SimpleQueue[Request]) -> None:
        try:
            while True:
                request = requests.get()
                self._running[request.number] = request
                reply = _reply(lane, request)
                del self._running[request.number], self._requests[request.number]
                self._send("reply", request.number, reply)
                del request, reply
                self._after()
        except BaseException:
            os._exit(1)  # a lane that serves no more would leave its requests without a reply

    def _send(self, *message: object) -> None:
        with self._sending:
            self._pipe.send(message)


def _reply(lane: Lane, request: Request) -> object:
    """Return the lane's reply, or the exception that the service should raise."""
    try:
        return lane(request)
    except (Stopped, RequestError) as error:
        return error
    except BaseException as error:
        if lacks_memory(error):
            return MemoryError(str(error))
        if isinstance(error, RerankError):
            return RerankError(str(error))
        return Lost("a request failed in a child process", described(error, with_text=True))
