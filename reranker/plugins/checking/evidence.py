"""The probabilities that a span model gives to the brackets of a sentence, whatever its tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from reranker.chart.best import Chart, Gains
from reranker.chart.bracketed import bracketed
from reranker.chart.marginals import marginals
from reranker.checkpoints.installed import installed_span_model
from reranker.checkpoints.members import load_placed
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL
from reranker.errors import CheckpointError, InputError, TreeError
from reranker.parsers.chart import MOST_WORDS
from reranker.scoring.span_table import read_sentence

LEAST = 1e-8
"""Less probable brackets are as improbable as this: far less than ``Certainty`` needs, since wrong
brackets are compared with each other."""


class Expected(NamedTuple):
    """The expectations about a sentence."""

    probabilities: dict[tuple[int, int, str], float]
    """P(bracket | words) by first word, the word after the last, and label; the others have
    ``LEAST``."""
    tree: str
    """The most probable tree."""


class Evidence:
    """A span model."""

    def __init__(self, name: str = "", language: str = "") -> None:
        """Load the model that ``ParserSettings.model`` and ``language`` would name. Raises
        InputError if there is none."""
        path, sha256 = installed_span_model(name, language)
        try:
            member = load_placed(path, sha256, torch.device("cpu"), "exact")
        except CheckpointError as error:
            raise InputError(str(error)) from error
        if not isinstance(member, SpanCheckpoint):
            raise InputError(f"{path}: not a span model")
        self._model, self._vocabulary = member.model, member.vocabulary
        self._temperature = float(member.information.get("temperature", 1.0))
        self._names = [label.split(" ") for label in member.vocabulary.labels]
        self.labels = {name for names in self._names for name in names}
        """Of the brackets that it knows."""

    def of(self, words: tuple[str, ...], tags: tuple[str, ...]) -> Expected:
        """Return what is expected of a sentence. Raises TreeError if it is too long."""
        if len(words) > MOST_WORDS:
            message = f"{len(words)} words, more than the {MOST_WORDS} that the parser chart takes"
            raise TreeError("wrong-length", message)
        torch.set_num_threads(1)  # as the parser: the bits depend on it
        table = read_sentence(self._model, self._vocabulary, words)
        gains = Gains.of_table(table.labels, NO_LABEL, RARE_LABEL + 1)
        found = marginals(gains, self._temperature)
        rows, numbers = np.nonzero(found.probabilities > LEAST)
        values = found.probabilities[rows, numbers].tolist()
        probabilities: dict[tuple[int, int, str], float] = {}
        for (start, last), number, value in zip(
            found.places[rows].tolist(), numbers.tolist(), values, strict=True
        ):
            for name in dict.fromkeys(self._names[number]):
                key = start, last + 1, name
                probabilities[key] = probabilities.get(key, 0.0) + value
        spans = Chart(gains).best().spans
        tree, _ = bracketed(spans, self._vocabulary.labels, words, tags, "TOP")
        return Expected(probabilities, tree)
