"""The probabilities that a span model gives to the brackets of a sentence, whatever its tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from reranker.chart.best import Chart, Gains
from reranker.chart.bracketed import bracketed
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL
from reranker.errors import TreeError
from reranker.parsers.chart import MOST_WORDS, certainties_of, parser_model
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import ParserSettings
from reranker.scoring.span_table import read_sentence

LEAST = 1e-8
"""The probability that all less probable brackets are given. It is far below the least one of
``Certainty``, since wrong brackets are compared with each other."""


class Expected(NamedTuple):
    """A model's probabilities of a sentence's brackets, and its best tree."""

    probabilities: Mapping[tuple[int, int, str], float]
    """P(bracket | words) by first word, the word after the last, and label; the others have
    ``LEAST``."""
    tree: str
    """The most probable tree."""


class Evidence:
    """A span model."""

    def __init__(self, name: str = "", language: str = "") -> None:
        """Load the model that ``ParserSettings.model`` and ``language`` would name. Raises
        InputError if there is none."""
        member, self._temperature = parser_model(ParserSettings(model=name, language=language))
        self._model, self._vocabulary = member.model, member.vocabulary
        self.labels = {name for label in member.vocabulary.labels for name in label.split(" ")}
        """Labels of the brackets that the model knows."""
        self.language = LanguageCheck(member.language, self._unknown_words)
        """A check whether the words are of the model's language."""

    def _unknown_words(self, words: Sequence[str]) -> int:
        return sum(map(self._vocabulary.is_unknown, words))

    def of(self, words: tuple[str, ...], tags: tuple[str, ...]) -> Expected:
        """Return the model's brackets of a sentence. Raises TreeError if it is too long."""
        if len(words) > MOST_WORDS:
            message = f"{len(words)} words, more than the {MOST_WORDS} that the parser chart takes"
            raise TreeError("wrong-length", message)
        torch.set_num_threads(1)  # as the parser: the bits depend on it
        table = read_sentence(self._model, self._vocabulary, words)
        gains = Gains.of_table(table.labels, NO_LABEL, RARE_LABEL + 1)
        labels = self._vocabulary.labels
        (certainty,) = certainties_of([gains], labels, self._temperature, LEAST)
        spans = Chart(gains).best().spans
        tree, _ = bracketed(spans, self._vocabulary.labels, words, tags, "TOP")
        return Expected(certainty.probabilities, tree)
