"""What a parser is, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reranker.nbest import NBest, ReadOptions
from reranker.nbest.data import Sentence


@dataclass(frozen=True, slots=True)
class ParserSettings:
    """What the user says of a parser; each takes what it needs."""

    command: str = ""
    """A program and its arguments, as for a shell."""
    model: str = ""
    """A name, a folder or a file; empty: the parser's default."""
    candidates: int = 50
    """Trees for each sentence, at most."""
    seconds: float = 20.0
    """Time limit for a sentence."""
    options: ReadOptions = field(default_factory=ReadOptions)
    """The format of the lists that a program prints."""
    device: str = "cpu"
    """Where models of ours compute: as ``Reranker.load`` takes it."""
    overparsing: int = 10
    """How thoroughly BLLIP searches; its own default, 21, takes three times as long for 0.6 F1."""


class Parser(Protocol):
    """Proposes trees for sentences. ``parse`` is called by several threads at once, each with
    sentences of its own.

    If the root of its trees is not TOP, an attribute ``root`` says what it is, for the flat trees
    of sentences that it cannot parse. A method ``unknown_words``, if there is one, counts those of
    some words that it has not learned (``language``)."""

    @property
    def batch_sizes(self) -> Sequence[int]:
        """How many sentences to give it at once: the first time, the second time and so on; the
        last size repeats."""

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[NBest | str]:
        """For each sentence its list, with at least one candidate, or why there is none.

        A sentence that it cannot parse, or dies of, costs no other one its list. Raises InputError
        for a parser that does not work at all, and Stopped after ``stop``.
        """

    def stop(self) -> None:
        """End everything that runs for it, at once."""


def root_of(parser: Parser) -> str:
    """The root of the parser's trees."""
    root: str = getattr(parser, "root", "TOP")
    return root


Factory = Callable[[ParserSettings], Parser]
"""Makes a parser. Raises InputError for settings that are missing or wrong."""
