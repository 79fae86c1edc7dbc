"""The processes that read bodies, as the service sees them. Nobody knows how long that takes: each
reads one body at a time, and is ended if it takes too long. ``reading_main`` is what runs there."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
from multiprocessing.connection import Connection

import structlog

from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.children.child import MORE, Beside, Lost, Running, replies
from reranker.service.errors import ServiceError, draining, over_limit, unavailable
from reranker.service.requests.readings import Order, Piece, Reading
from reranker.service.requests.schemas import ParseQuery
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_LOGGER = structlog.get_logger("rerank.service")

# A long body comes after what is small and what answers, and takes long to score anyway.
_NICENESS = 14

# How long a process has to stop by itself. It takes a quarter of a second to start another.
_PATIENCE_SECONDS = 1.0

# CPU time for the first text, which waits for libraries to be loaded.
_FIRST_SECONDS = 60.0


class ReadingProcesses:
    """Starts each process when it is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, at_once: int) -> None:
        """So many short bodies are read at once, and as many long ones; others wait."""
        self._settings = settings
        short, long = ([_process() for _ in range(at_once)] for _ in range(2))
        self._counting = _process()
        self._all = [*short, *long, self._counting]
        self._idle = {False: _stack(short), True: _stack(long)}

    @property
    def memory(self) -> float:
        """Bytes that the processes hold."""
        return sum(each.memory for each in self._all)

    def start(self) -> None:
        """Start one for short bodies, and have it read a first text, so that the first of them
        need not wait."""
        settings = self._settings.model_copy(update={"reading_seconds": _FIRST_SECONDS})
        order = Order("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
        self._read(order, Cancellation(), is_long=False, settings=settings)

    def close(self) -> None:
        for process in self._all:
            process.close()

    def count(self, piece: Piece) -> None:
        """Count what is in a body while it arrives; not from two threads at once. Raises
        ServiceError once there is too much of anything."""
        running = _started(self._counting, _NICENESS)
        try:
            ((kind, value),) = replies(running.lines[0], (self._settings, piece), Cancellation())
        except (EOFError, OSError):
            return  # all of it is counted again when it is read
        if kind == "refused":
            raise ServiceError(*value)

    def read(self, order: Order, cancellation: Cancellation, is_long: bool) -> Reading:
        """``readings.read``, there; raises ServiceError 422 if it takes more CPU time than
        ``reading_seconds`` allows, 503 if the process dies of it, and Stopped if cancelled."""
        return self._read(order, cancellation, is_long, self._settings)

    def _read(
        self, order: Order, cancellation: Cancellation, is_long: bool, settings: Settings
    ) -> Reading:
        idle = self._idle[is_long]
        process = idle.get()
        try:
            running = _started(process, _NICENESS if is_long else 0)
            return _read(running.lines[0], (settings, order), cancellation)
        except TimeoutError:  # it does not even notice that it should stop
            process.end()
            _LOGGER.warning("reading did not stop and was ended")
            raise Stopped from None
        except (EOFError, OSError):
            raise self._error(running) from None
        finally:
            idle.put(process)

    def _error(self, running: Running) -> ServiceError:
        """Why there is no answer."""
        lost = running.lost()
        if running.process.returncode == -signal.SIGPROF:
            _LOGGER.warning("reading took too long", **lost.description)
            limit = self._settings.reading_seconds
            return over_limit("reading_seconds", limit, "the CPU time to read the body", None)
        _LOGGER.error("reading crashed", **lost.description)
        message = "the process that read the request died; it is restarted"
        return unavailable("reader-crashed", message)


def _process() -> Beside:
    return Beside("reranker.service.children.reading_main", 1)


def _stack(processes: list[Beside]) -> queue.LifoQueue[Beside]:
    """The one that was used last is taken first, so that others are not started without need."""
    stack: queue.LifoQueue[Beside] = queue.LifoQueue()
    for process in processes:
        stack.put(process)
    return stack


def _started(process: Beside, niceness: int = 0) -> Running:
    running = process.running
    if running is not None:
        return running
    try:
        running = process.start()
    except Lost as error:
        raise draining() from error
    with contextlib.suppress(OSError):  # it has ended again
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, running.process.pid, own + niceness)
    return running


def _read(line: Connection, order: tuple[Settings, Order], cancellation: Cancellation) -> Reading:
    items: list[NBest | TextSentence] = []
    for kind, value in replies(line, order, cancellation, _PATIENCE_SECONDS):
        if kind == MORE:
            items.append(value)
    if kind == "stopped":
        raise Stopped
    if kind == "refused":
        raise ServiceError(*value)
    if kind == "failed":
        raise Lost("reading failed", value)
    reading: Reading = value
    return reading._replace(
        lists=[item for item in items if isinstance(item, NBest)],
        sentences=[item for item in items if isinstance(item, TextSentence)],
    )
