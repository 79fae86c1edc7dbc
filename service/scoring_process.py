"""The process that scores, as the service sees it.

If it dies (lack of memory, a fault in a library), another takes its place. ``scoring_main`` is what
runs there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.ranker import Combination, Ranker
from reranker.ranking import Criterion, Scored, Weighing
from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.service.lines import Beside, Lost, replies

if TYPE_CHECKING:
    from reranker.checkpoints.vocabulary import Vocabulary
    from reranker.confidence import Calibration
    from reranker.service.settings import Settings


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
        order = models.number, lists, criterion, token_scores
        try:
            ((kind, (value, self._process.memory)),) = replies(connection, order, cancellation)
        except (EOFError, OSError):
            raise self._process.lost() from None
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
        self._beside = Beside("reranker.service.scoring_main", 1 + len(slots))
        self._lock = threading.Lock()
        self._count = 0
        self._there: set[int] = set()  # models, by number
        self._models: weakref.WeakValueDictionary[int, Models] = weakref.WeakValueDictionary()
        self.lost, self.close = self._beside.lost, self._beside.close

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
            if unused and self._beside.is_running:
                self._ask("forget", unused)
                self._there -= unused

    def connected(self, place: int, models: Models) -> Connection:
        """The line to a running process that has the models; raises Lost."""
        with self._lock:
            try:
                if models.number not in self._there or not self._beside.is_running:
                    # The same ones, even if the files have changed since.
                    self._loaded(models.number, [member.sha256 for member in models.members])
            except RerankError as error:
                raise Lost(str(error)) from error
            return self._beside.lines[1 + place]

    def _loaded(self, number: int, sha256: Sequence[str]) -> Description:
        """Have models loaded; raises RerankError."""
        if not self._beside.is_running:
            self._beside.start()
            self._there.clear()
            self._ask("slots", self._slots)
        settings = self._settings
        names = {
            "models": settings.models,
            "combination": settings.combine,
            "device": settings.device,
            "threads": settings.threads,
            "precision": settings.precision,
            "sha256": tuple(sha256),
        }
        description: Description = self._ask("load", number, names)
        self._there.add(number)
        return description

    def _ask(self, *order: object) -> Any:
        try:
            ((kind, value),) = replies(self._beside.lines[0], order, Cancellation())
        except (EOFError, OSError):
            raise RerankError(str(self.lost())) from None
        if kind == "failed":
            raise RerankError(value)
        return value
