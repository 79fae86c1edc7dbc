"""The process that scores, as the service sees it.

Models are in a process of their own: what they compute never holds up the event loop, nor does
reading a long body hold up scoring, as threads of one interpreter would. If it dies (lack of
memory, a fault in a library), another takes its place. ``scoring_main`` is what runs there.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any, NamedTuple

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.ranker import Combination, Ranker
from reranker.ranking import Criterion, Scored, Weighing
from reranker.scoring.cancellation import Cancellation, Stopped

if TYPE_CHECKING:
    from reranker.checkpoints.vocabulary import Vocabulary
    from reranker.confidence import Calibration
    from reranker.service.settings import Settings

# How often to look whether anybody still waits for what is being scored.
_LOOKING_SECONDS = 0.02

# How long to wait for the process to end by itself.
_ENDING_SECONDS = 0.5

STOP = ("stop",)
"""Sent to a line: nobody waits for what it computes."""


class Lost(Exception):
    """The scoring process ended, or what it computed failed; ``description`` is for the log."""

    def __init__(self, message: str, description: dict[str, str]) -> None:
        super().__init__(message)
        self.description = description


@dataclass(frozen=True)
class Member:
    """A language model in the other process."""

    name: str
    sha256: str
    vocabulary: Vocabulary
    parameters: int


class Description(NamedTuple):
    """What the other process says of models that it has loaded."""

    members: tuple[Member, ...]
    combination: Combination
    weighing: Weighing
    calibration: Calibration | None
    device: str
    precision: str


class Models(Ranker):
    """An ensemble in the scoring process, which is kept there as long as this lives."""

    def __init__(self, number: int, description: Description) -> None:
        self.number = number
        self.members, self.combination, self.weighing, self.calibration = description[:4]
        self.device, self.precision = description[4:]

    def score_lists(
        self,
        lists: Sequence[NBest],
        criterion: Criterion = "perplexity",
        token_scores: bool = False,
        cancellation: Cancellation | None = None,
        lanes: Line | None = None,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """Like ``Reranker.score_lists``; raises MemoryError if memory does not suffice there, and
        Lost if they cannot be scored."""
        assert lanes is not None
        scores = lanes.score(self, lists, criterion, token_scores, cancellation or Cancellation())
        return zip(lists, scores, strict=True)


class Line:
    """To a thread of the scoring process, and its lanes: one batch after another."""

    def __init__(self, process: ScoringProcess, place: int) -> None:
        self._process, self._place = process, place

    def score(
        self,
        models: Models,
        lists: Sequence[NBest],
        criterion: Criterion,
        token_scores: bool,
        cancellation: Cancellation,
    ) -> list[list[Scored]]:
        connection = self._process.connected(self._place, models)
        try:
            connection.send((models.number, lists, criterion, token_scores))
            is_told = False
            while not connection.poll(_LOOKING_SECONDS):
                if cancellation.is_cancelled and not is_told:
                    connection.send(STOP)
                    is_told = True
            kind, value, self._process.memory = connection.recv()
        except (EOFError, OSError):
            message = self._process.last_words()
            raise Lost(message, {"error": message}) from None
        if kind == "stopped":
            raise Stopped
        if kind == "no-memory":
            raise MemoryError
        if kind == "failed":
            raise Lost("scoring failed", value)
        scores: list[list[Scored]] = value
        return scores


class ScoringProcess:
    """Starts the process when it is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, slots: Sequence[tuple[int, int]]) -> None:
        """``slots``: how many threads each line has to compute with, and their niceness."""
        self.memory = 0.0
        """Bytes in use there: of GPUs, else of the process."""
        self._settings, self._slots = settings, slots
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Connection
        self._lines: list[Connection] = []
        self._is_closed = False
        self._count = 0
        self._there: set[int] = set()  # models, by number
        self._models: weakref.WeakValueDictionary[int, Models] = weakref.WeakValueDictionary()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def line(self, place: int) -> Line:
        return Line(self, place)

    def load(self) -> Models:
        """The models that the settings name; raises RerankError."""
        with self._lock:
            self._count += 1
            description = self._loaded(self._count, self._settings.sha256)
            models = self._models[self._count] = Models(self._count, description)
            return models

    def forget_unused(self) -> None:
        """Have the process forget the models that nobody here has any more."""
        with self._lock:
            unused = self._there - set(self._models)
            if unused and self._is_running:
                self._ask("forget", unused)
                self._there -= unused

    def connected(self, place: int, models: Models) -> Connection:
        """The line to a running process that has the models; raises Lost."""
        with self._lock:
            try:
                if models.number not in self._there or not self._is_running:
                    # The same ones, even if the files have changed since.
                    self._loaded(models.number, [member.sha256 for member in models.members])
            except RerankError as error:
                raise Lost(str(error), {"error": "RerankError", "message": str(error)}) from error
            return self._lines[place]

    def last_words(self) -> str:
        """How it ended."""
        process = self._process
        status = None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(_ENDING_SECONDS)
        if status is not None and status < 0:
            name = signal.Signals(-status).name
            why = " (perhaps for lack of memory)" if status == -signal.SIGKILL else ""
            return f"the scoring process was ended by {name}{why}"
        return f"the scoring process ended with status {status}"

    def close(self) -> None:
        """End the process, whatever it computes."""
        self._is_closed = True
        process = self._process
        if process is None:
            return
        for connection in (*self._lines, self._control):
            with contextlib.suppress(OSError):
                connection.close()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _loaded(self, number: int, sha256: Sequence[str]) -> Description:
        """Have models loaded; raises RerankError."""
        if not self._is_running:
            self._start()
        settings = self._settings
        description: Description = self._ask(
            "load",
            number,
            {
                "models": settings.models,
                "combination": settings.combine,
                "device": settings.device,
                "threads": settings.threads,
                "precision": settings.precision,
                "sha256": tuple(sha256),
            },
        )
        self._there.add(number)
        return description

    def _ask(self, *order: object) -> Any:
        try:
            self._control.send(order)
            kind, value = self._control.recv()
        except (EOFError, OSError):
            raise RerankError(self.last_words()) from None
        if kind == "failed":
            raise RerankError(value)
        return value

    def _start(self) -> None:
        if self._is_closed:
            raise RerankError("the service is stopping")
        for connection in self._lines:
            connection.close()
        self._there.clear()
        pairs = [Pipe() for _ in range(1 + len(self._slots))]
        theirs = [pair[1] for pair in pairs]
        numbers = [connection.fileno() for connection in theirs]
        program = [sys.executable, "-P", "-m", "reranker.service.scoring_main"]
        # What a terminal sends is for the service alone: hence a process group.
        self._process = subprocess.Popen(
            [*program, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            pass_fds=numbers,
            process_group=0,
        )
        for connection in theirs:
            connection.close()
        self._control, *self._lines = (pair[0] for pair in pairs)
        self._ask("slots", self._slots)
