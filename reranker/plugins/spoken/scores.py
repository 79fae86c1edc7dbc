"""Scores of the words of a transcript as a sentence, by what the span model says of them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.checkpoints.span_vocabulary import RARE_LABEL
from reranker.errors import InputError
from reranker.languages import ENGLISH, language_name
from reranker.parsers.chart import parser_model
from reranker.parsers.parser import ParserSettings
from reranker.plugins.spoken import weights
from reranker.plugins.spoken.segmentation import Values
from reranker.scoring.span_table import read_sentence

_CLAUSES = ("S", "SBARQ", "SINV", "SQ")
_SENTENCES = (*_CLAUSES, "FRAG", "INTJ")
_LEAST = -30.0  # a log-probability in nats; less is as improbable


class Scores:
    """A span model, and the weights of what it says, which were fitted to telephone talk."""

    def __init__(self, name: str = "", language: str = "") -> None:
        """Load the model that ``ParserSettings.model`` and ``language`` would name. Raises
        InputError if there is none."""
        member, _ = parser_model(ParserSettings(model=name, language=language))
        if member.language != ENGLISH:
            given = f"a model of {language_name(member.language)}"
            raise InputError(f"{given}: ends of sentences were learned from English talk")
        self._model, self._vocabulary = member.model, member.vocabulary
        firsts = [label.split(" ")[0] for label in member.vocabulary.labels]
        self._sentences, self._clauses = (
            [RARE_LABEL + 1 + number for number, first in enumerate(firsts) if first in some]
            for some in (_SENTENCES, _CLAUSES)
        )
        known = [weights.TAGS.get(tag, (0.0, 0.0)) for tag in member.vocabulary.tags]
        self._tags = np.array(known).reshape(-1, 2)

    def of(self, words: tuple[str, ...], longest: int) -> Values:
        """Return the score of a sentence by its first word and its number of words, [n, longest +
        1]; those of sentences that go beyond the last word have no meaning."""
        torch.set_num_threads(1)  # as the parser: the bits depend on it
        table = read_sentence(self._model, self._vocabulary, words)
        count = len(words)
        starts, lengths = np.arange(count)[:, None], np.arange(longest + 1)[None]
        lasts = np.clip(starts + lengths - 1, 0, count - 1)
        scores = np.full((count, longest + 1), weights.ANY)
        for numbers, weight in (
            (self._sentences, weights.SENTENCE),
            (self._clauses, weights.CLAUSE),
        ):
            scores += weight * _log_sum(table.labels, numbers)[starts, lasts]
        tags = np.exp(table.tags.astype(np.float64)) @ self._tags
        behind = np.append(tags[1:, 1], 0.0)  # of the word after each last word
        values: Values = scores + (tags[:, 0] + behind)[lasts]
        return values


def _log_sum(labels: NDArray[np.float32], numbers: list[int]) -> Values:
    """Return the log-probability that a span has one of some labels, [n, n]."""
    values: Values = np.logaddexp.reduce(labels[:, :, numbers].astype(np.float64), 2)
    return np.maximum(values, _LEAST)
