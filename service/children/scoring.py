"""A child that scores, and parses with the built-in parser, as the service sees it.

The child runs ``scoring_main``. Lane 0 loads and forgets models; each of the others serves a
slot of the queue.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from reranker.errors import RerankError
from reranker.languages import language_name
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored, Weighing
from reranker.ranking.ranker import Combination, Ranker
from reranker.service.children.child import Child
from reranker.service.errors import Lost

if TYPE_CHECKING:
    from reranker.checkpoints.span_vocabulary import SpanVocabulary
    from reranker.checkpoints.vocabulary import Vocabulary
    from reranker.ranking.confidence import Calibration
    from reranker.service.settings import Settings
    from reranker.text.reading import TextSentence

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class ChildMember:
    """A model in a scoring child, without its weights."""

    name: str
    sha256: str
    vocabulary: Vocabulary | SpanVocabulary
    parameters: int


class ParserModel(NamedTuple):
    """The built-in parser's model in a scoring child, without its weights."""

    sha256: str
    language: str
    vocabulary: SpanVocabulary

    def unknown_words(self, words: Sequence[str]) -> int:
        """Return the number of words that are new to the model."""
        return sum(map(self.vocabulary.is_unknown, words))


@dataclass(eq=False)
class Models(Ranker):
    """An ensemble in the scoring children, which keep the ensemble as long as this object lives."""

    number: int
    members: tuple[ChildMember, ...]
    combination: Combination
    weighing: Weighing
    calibration: Calibration | None
    device: str
    precision: str
    parser: ParserModel | None
    no_parser: str
    """The reason why there is no parser."""
    names: Sequence[str] | None = None
    """The names of its models; None: those of the settings."""
    for_text: Models | None = None
    """The ensemble that chooses among the parser's trees, unless a request asks for language
    models; None if this one does."""


class Best(NamedTuple):
    """The number of a list's candidates that are wanted, and the weighing that orders them."""

    weighing: Weighing
    top: int


class ToScore(NamedTuple):
    """A batch for one slot: n-best lists, or sentences that are parsed first."""

    models: int
    token_scores: bool
    lists: Sequence[NBest] = ()
    sentences: Sequence[TextSentence] = ()
    most_tree_tokens: int = 10**9
    """Parsed trees with more tokens are rejected."""
    best: Best | None = None
    """The best candidates, if only these are wanted of each list."""
    is_certainty_wanted: bool = True
    """Whether the parser's probabilities of brackets are wanted."""


class BatchScores(NamedTuple):
    """The result of a batch."""

    lists: Sequence[NBest]
    scores: Sequence[Sequence[Scored | None] | None]
    """The scores of each list (``halving.score_together``); None for a list with a candidate that
    does not fit into memory even alone."""
    seconds: float
    halvings: int
    """The number of times that memory did not suffice and a part was scored in halves."""
    memory: float
    """Bytes in use after the batch: of GPUs, else of the process."""
    parser_seconds: Sequence[float] = ()
    faults: Sequence[dict[str, str]] = ()
    """The parser's errors, as fields of the log."""


class ScoringChild:
    """A scoring child and the models in it."""

    def __init__(
        self,
        settings: Settings,
        slots: Sequence[tuple[int, int]],
        ended: Callable[[Lost], None] = lambda why: None,
    ) -> None:
        """Take threads and niceness of each slot; ``ended`` is called when the child has died."""
        self._settings = settings
        self._child = Child("scoring", slots, settings.heartbeat_seconds, ended=ended)
        self._lock = threading.Lock()
        self._loaded_in: object = None  # the process that has the models
        self._loaded: set[int] = set()  # by number
        self._models: weakref.WeakValueDictionary[int, Models] = weakref.WeakValueDictionary()
        self.device_memory = 0.0
        """Bytes in use after the last batch: of GPUs, else of the child."""
        self.end, self.close = self._child.end, self._child.close

    @property
    def memory(self) -> float:
        """Return the bytes that the process holds in RAM."""
        return self._child.memory

    def load(self) -> Models:
        """Load the models that the settings name; raises RerankError."""
        with self._lock:
            models = self._load(next(_NUMBERS), self._settings.sha256, None)
            self._models[models.number] = models
            if models.parser is not None and (name := self._settings.parsing_models):
                number, parser = next(_NUMBERS), models.parser.sha256
                models.for_text = self._load(number, (), parser, [name])
                self._models[number] = models.for_text
            return models

    def ensure(self, models: Models) -> None:
        """Have the child load models unless it has them. Raises Lost if it cannot load them."""
        if models.number in self._loaded and self._loaded_in is self._child.process:
            return  # without the lock, which is held while other models are loaded
        with self._lock:
            if self._loaded_in is not self._child.started():
                self._loaded.clear()
            if models.number not in self._loaded:
                # The same ones, even if the files have changed since.
                hashes = [member.sha256 for member in models.members]
                try:
                    parser = models.parser and models.parser.sha256
                    self._load(models.number, hashes, parser, models.names)
                except (RerankError, MemoryError) as error:
                    raise Lost(str(error)) from error
            self._models[models.number] = models

    def forget_unused(self) -> None:
        """Have the child forget the models that are no longer in use here."""
        with self._lock:
            unused, process = self._loaded - set(self._models), self._child.process
            if unused and process is not None and process is self._loaded_in:
                try:
                    process.reply(("forget", unused))
                except (Lost, RerankError):
                    return
                self._loaded -= unused

    def score(
        self, models: Models, batch: ToScore, cancellation: Cancellation, slot: int = 0
    ) -> BatchScores:
        """Return the scores of each list. Raises Stopped if cancelled, and Lost on failure."""
        self.ensure(models)
        scores: BatchScores = self._child.started().reply(
            batch, cancellation, lane=1 + slot, is_watched=True
        )
        self.device_memory = scores.memory
        return scores

    def _load(
        self,
        number: int,
        sha256: Sequence[str],
        parser: str | None,
        names: Sequence[str] | None = None,
    ) -> Models:
        """Have the child load the ensemble of ``names``, by default that of the settings, and the
        parser's model, which has the hash ``parser`` if one is given. Raises RerankError, also if
        the settings name a parser's model that does not work."""
        settings = self._settings
        loading = {**settings.loading, "sha256": sha256}
        if names:
            loading["models"] = [*names]
        choice = settings.parser_choice
        try:
            process = self._child.started()
            models: Models = process.reply(("load", number, loading, choice))
        except Lost as error:
            raise RerankError(error.description.get("message") or str(error)) from error
        except MemoryError as error:
            raise RerankError(f"the models could not be loaded: {error}") from error
        model = models.parser
        if model is None and settings.parser_model:
            raise RerankError(models.no_parser)
        if model is not None and model.language != settings.text_language:
            language = language_name(model.language)
            raise RerankError(
                f"the parser's model is of {language}: start with --language {model.language}"
            )
        if parser is not None and (model is None or model.sha256 != parser):
            raise RerankError("the parser's model has changed since it was loaded")
        if process is not self._loaded_in:
            self._loaded.clear()
            self._loaded_in = process
        self._loaded.add(number)
        models.names = names
        return models
