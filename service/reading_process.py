"""Long bodies are read in a process of its own, as the service sees it: what is made of them takes
long, and would hold up the event loop. ``reading_main`` is what runs there."""

from __future__ import annotations

import queue
import threading
from multiprocessing.connection import Connection

import structlog

from reranker.nbest import NBest
from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.service.errors import ServiceError, draining, unavailable
from reranker.service.lines import MORE, Beside, Lost, Running, replies
from reranker.service.readings import Order, Piece, Reading
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.service")


class ReadingProcess:
    """Starts the process when it is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, lines: int) -> None:
        """So many bodies are read at once; others wait."""
        self._settings = settings
        self._beside = Beside("reranker.service.reading_main", 1 + lines)
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(lines):
            self._free.put(1 + place)
        self.close = self._beside.close

    @property
    def memory(self) -> float:
        """Bytes that the process holds."""
        return self._beside.memory

    def count(self, piece: Piece) -> None:
        """Count what is in a body while it arrives; not from two threads at once. Raises
        ServiceError once there is too much of anything."""
        running = self._started()
        try:
            ((kind, value),) = replies(running.lines[0], (self._settings, piece), Cancellation())
        except (EOFError, OSError):
            return  # all of it is counted again when it is read
        if kind == "refused":
            raise ServiceError(*value)

    def read(self, order: Order, cancellation: Cancellation) -> Reading:
        """``readings.read``, there; raises ServiceError 503 if the process dies of it."""
        place = self._free.get()
        try:
            running = self._started()
            return _read(running.lines[place], (self._settings, order), cancellation)
        except (EOFError, OSError):
            _LOGGER.error("reading crashed", **running.lost().description)
            message = "the process that read the request died; it is restarted"
            raise unavailable("reader-crashed", message) from None
        finally:
            self._free.put(place)

    def _started(self) -> Running:
        with self._lock:
            try:
                return self._beside.running or self._beside.start()
            except Lost as error:
                raise draining() from error


def _read(line: Connection, order: tuple[Settings, Order], cancellation: Cancellation) -> Reading:
    lists: list[NBest] = []
    for kind, value in replies(line, order, cancellation):
        if kind == MORE:
            lists.append(value)
    if kind == "stopped":
        raise Stopped
    if kind == "refused":
        raise ServiceError(*value)
    if kind == "failed":
        raise Lost("reading failed", value)
    reading: Reading = value
    return reading._replace(lists=lists)
