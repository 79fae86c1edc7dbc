"""The protocol of parsers, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

from reranker.errors import InputError, positive
from reranker.languages import ENGLISH
from reranker.nbest import NBest, ReadOptions
from reranker.nbest.data import Sentence
from reranker.process.machine import MOST_THREADS

if TYPE_CHECKING:
    from reranker.checkpoints.members import Precision


def option(default: Any, help: str) -> Any:
    """Declare a field that a user can set, by a flag or otherwise; ``help`` is the same
    everywhere."""
    return field(default=default, metadata={"help": help})


def option_of(kind: type, name: str) -> tuple[Any, str]:
    """Return the default and the help text of an ``option``."""
    (declared,) = (each for each in fields(kind) if each.name == name)
    return declared.default, declared.metadata["help"]


@dataclass(frozen=True, slots=True)
class ParserSettings:
    """The settings of a parser; each parser uses those it needs."""

    command: str = ""  # a program and its arguments, as for a shell
    model: str = ""  # a name, a folder or a file; empty: the parser's default
    candidates: int | None = option(
        None,
        "trees that the parser proposes per sentence; --parser-command ignores it (default: 20 "
        "with chart; 50 with other parsers and where all trees count, as in `rerank grep`)",
    )
    language: str = option(
        "",
        "language of the text, such as id or zh, which chooses models and words; `rerank models` "
        "lists the languages (default: that of the parser's model)",
    )
    seconds: float = option(
        20, "time limit per sentence; for --parser-command, per sentence on average"
    )
    options: ReadOptions = field(default_factory=ReadOptions)
    """The format of the lists that a program prints."""
    device: str = "cpu"  # of our own models, as in ``Reranker.load``
    precision: Precision = "fast"  # likewise
    is_certainty_wanted: bool = True
    """True if brackets need probabilities, which take a tenth of the chart parser's time."""
    # BLLIP's own default, 21, gains 0.6 F1.
    overparsing: int = option(10, "how thoroughly bllip searches; 21 takes three times as long")

    def __post_init__(self) -> None:
        """Raise InputError unless ``candidates`` is from 1 to ``MOST_CANDIDATES``, ``seconds`` more
        than 0 and at most ``MOST_SECONDS``, and ``command`` a string."""
        count = self.candidates
        if count is not None and positive("candidates", count) > MOST_CANDIDATES:
            raise InputError(f"candidates must be at most {MOST_CANDIDATES:,} for a sentence")
        if not isinstance(self.seconds, Real) or not 0 < self.seconds <= MOST_SECONDS:
            expected = f"parser_seconds must be a number above 0 and at most {MOST_SECONDS:,}"
            raise InputError(f"{expected}, got {self.seconds!r:.60}")
        if not isinstance(self.command, str):
            raise InputError(f"parser_command must be a string, got {self.command!r:.60}")


MOST_SECONDS = 3_600
"""Limit of ``seconds``: even times a hundred sentences, the system can wait so long."""
MOST_CANDIDATES = 10_000
"""Limit for one sentence: chart takes 20 seconds and 0.4 GB for this many trees of 19 words."""
CANDIDATES = 50
"""The number of trees that a parser proposes if ``ParserSettings.candidates`` is not set."""
CHART_CANDIDATES = 20
"""The number of trees that the chart parser proposes by default: the best of 50 is no better, and
takes 1.5 times as long (docs/research/results.md)."""


class Parser(Protocol):
    """Proposes trees for sentences. ``parse`` is called by several threads at once, each with
    sentences of its own.

    If the root of its trees is not TOP, an attribute ``root`` names it, for the flat trees of
    sentences it cannot parse. If exp(score / T) is in proportion to a tree's probability for a T
    other than 1, an attribute ``temperature`` is T. If its language is not English, an attribute
    ``language`` is the code. If more threads are no faster, an attribute ``most_jobs`` says how
    many to run at most. An optional method ``unknown_words`` counts the words that it has not
    learned (``language``). An optional static method ``model_identity``
    returns text that changes with the model that the parser would use for some ``ParserSettings``.
    """

    @property
    def batch_sizes(self) -> Sequence[int]:
        """Return how many sentences to pass at once, the first time, the second time and so on; the
        last size repeats."""

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[NBest | str]:
        """Return for each sentence its list, with at least one candidate, or why there is none.

        A sentence that it cannot parse, or that kills it, costs no other sentence its list. Raises
        InputError for a parser that does not work at all, and Stopped after ``stop``.
        """

    def stop(self) -> None:
        """Stop everything that runs for it, at once."""


def root_of(parser: Parser) -> str:
    """Return the root of the parser's trees."""
    root: str = getattr(parser, "root", "TOP")
    return root


def jobs_of(parser: Parser, jobs: int) -> int:
    """Return the number of threads for the parser, if ``jobs`` are wanted: at most
    ``MOST_THREADS``. Raises InputError unless that is a positive integer."""
    return min(positive("jobs", jobs), getattr(parser, "most_jobs", MOST_THREADS))


def language_of(parser: Parser) -> str:
    """Return the code of the language that the parser has learned."""
    language: str = getattr(parser, "language", ENGLISH)
    return language


def temperature_of(parser: Parser) -> float:
    """Return the temperature by which the parser's scores are divided before they become
    probabilities."""
    temperature: float = getattr(parser, "temperature", 1.0)
    return temperature


Factory = Callable[[ParserSettings], Parser]
"""Creates a parser. Raises InputError for missing or wrong settings."""
