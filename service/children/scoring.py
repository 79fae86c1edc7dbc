"""The process that scores, and parses with the built-in parser, as the service sees it.

If it dies (lack of memory, a fault in a library), another takes its place. ``scoring_main`` is what
runs there.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.ranker import Combination, Ranker
from reranker.ranking import Scored, Weighing
from reranker.service.children.child import Beside, Lost, Running, replies

if TYPE_CHECKING:
    from reranker import Reranker
    from reranker.checkpoints.span_vocabulary import SpanVocabulary
    from reranker.checkpoints.vocabulary import Vocabulary
    from reranker.confidence import Calibration
    from reranker.service.settings import Settings
    from reranker.text.reading import TextSentence

Served: TypeAlias = "Reranker | Models"
"""What scores for the service: in its own process, or in another."""


@dataclass(frozen=True)
class Member:
    """A model in the other process."""

    name: str
    sha256: str
    vocabulary: Vocabulary | SpanVocabulary
    parameters: int


class Description(NamedTuple):
    """What the other process says of models that it has loaded."""

    members: tuple[Member, ...]
    combination: Combination
    weighing: Weighing
    calibration: Calibration | None
    device: str
    precision: str
    parser: str | None
    """The SHA-256 of the built-in parser's model; None if there is no such parser."""
    no_parser: str
    """Why there is none; empty if another parser is asked."""


class Parsed(NamedTuple):
    """What the built-in parser made of a sentence."""

    nbest: NBest
    seconds: float
    fault: dict[str, str] | None = None
    """What went wrong, for the log."""


class Models(Ranker):
    """An ensemble in the scoring process, which is kept there as long as this lives."""

    def __init__(self, number: int, description: Description) -> None:
        self.number = number
        self.members, self.combination, self.weighing, self.calibration = description[:4]
        self.device, self.precision, self.parser, self.no_parser = description[4:]

    def score_lists(
        self,
        lists: Sequence[NBest],
        token_scores: bool,
        cancellation: Cancellation | None,
        lanes: Line,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """Like ``Reranker.score_lists``; raises MemoryError if memory does not suffice there, and
        Lost if they cannot be scored."""
        scores = lanes.score(self, lists, token_scores, cancellation or Cancellation())
        return zip(lists, scores, strict=True)


class Line:
    """To a thread of the scoring process, and its lanes: one batch after another."""

    def __init__(self, process: ScoringProcess, place: int) -> None:
        self._process, self._place = process, place

    def score(
        self,
        models: Models,
        lists: Sequence[NBest],
        token_scores: bool,
        cancellation: Cancellation,
    ) -> list[list[Scored]]:
        scores: list[list[Scored]] = self._answer(
            models, ("score", models.number, lists, token_scores), cancellation
        )
        return scores

    def parse(
        self, models: Models, sentences: Sequence[TextSentence], cancellation: Cancellation
    ) -> list[Parsed]:
        """What the built-in parser makes of each sentence. Raises Stopped and Lost."""
        parsed: list[Parsed] = self._answer(
            models, ("parse", models.number, sentences), cancellation
        )
        return parsed

    def _answer(self, models: Models, order: object, cancellation: Cancellation) -> Any:
        running = self._process.with_models(models)
        line = running.lines[self._place]
        try:
            ((kind, (value, memory)),) = replies(line, order, cancellation)
        except (EOFError, OSError):
            raise running.lost() from None
        self._process.device_memory = memory
        if kind == "stopped":
            raise Stopped
        if kind == "no-memory":
            raise MemoryError
        if kind == "failed":
            raise Lost("scoring failed", value)
        return value


class ScoringProcess:
    """Starts the process when it is first needed, and again after it has ended."""

    def __init__(self, settings: Settings, slots: Sequence[tuple[int, int]]) -> None:
        """``slots``: how many threads each line has to compute with, and their niceness."""
        self.device_memory = 0.0
        """Bytes in use there after the last batch: of GPUs, else of the process."""
        self._settings, self._slots = settings, slots
        self._beside = Beside("reranker.service.children.scoring_main", 1 + len(slots))
        self._lock = threading.Lock()
        self._count = 0
        self._there: set[int] = set()  # models, by number
        self._models: weakref.WeakValueDictionary[int, Models] = weakref.WeakValueDictionary()
        self.end, self.close = self._beside.end, self._beside.close

    @property
    def memory(self) -> float:
        """Bytes that the process holds in RAM."""
        return self._beside.memory

    def line(self, place: int) -> Line:
        return Line(self, 1 + place)

    def load(self) -> Models:
        """The models that the settings name; raises RerankError."""
        self.forget_unused()
        with self._lock:
            self._count += 1
            running = self._beside.running or self._start()
            description = self._loaded(running, self._count, self._settings.sha256, None)
            models = self._models[self._count] = Models(self._count, description)
            return models

    def forget_unused(self) -> None:
        """Have the process forget the models that nobody here has any more."""
        with self._lock, contextlib.suppress(RerankError):
            unused = self._there - set(self._models)
            running = self._beside.running
            if unused and running is not None:
                self._ask(running, "forget", unused)
                self._there -= unused

    def with_models(self, models: Models) -> Running:
        """The process, which has these models; raises Lost."""
        running = self._beside.running
        if running is not None and models.number in self._there:
            return running  # without the lock: nobody waits while others are loaded
        with self._lock:
            try:
                running = self._beside.running or self._start()
                if models.number not in self._there:
                    # The same ones, even if the files have changed since.
                    hashes = [member.sha256 for member in models.members]
                    self._loaded(running, models.number, hashes, models.parser)
            except RerankError as error:
                raise Lost(str(error)) from error
            return running

    def _start(self) -> Running:
        self._there.clear()
        try:
            running = self._beside.start()
        except Lost as error:
            raise RerankError(str(error)) from error
        self._ask(running, "slots", self._slots)
        return running

    def _loaded(
        self, running: Running, number: int, sha256: Sequence[str], parser: str | None
    ) -> Description:
        """Have models loaded, and the built-in parser if that is asked: the one with the hash
        ``parser``, if there is one. Raises RerankError, also for a parser that is named and does
        not work."""
        settings = self._settings
        loading = {**settings.loading, "sha256": sha256}
        choice = settings.parser_choice if settings.has_built_in_parser else None
        description: Description = self._ask(running, "load", number, loading, choice)
        if description.parser is None and settings.has_parser and choice is not None:
            raise RerankError(description.no_parser)
        if parser is not None and description.parser != parser:
            raise RerankError("the parser's model has changed since it was loaded")
        self._there.add(number)
        return description

    def _ask(self, running: Running, *order: object) -> Any:
        try:
            ((kind, value),) = replies(running.lines[0], order, Cancellation())
        except (EOFError, OSError):
            raise RerankError(str(running.lost())) from None
        if kind in ("failed", "no-memory"):
            raise RerankError(value) from (MemoryError() if kind == "no-memory" else None)
        return value
