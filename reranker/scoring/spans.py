"""Log-probabilities of candidates under a span model, which reads each sentence once, by itself.

The log-probability of a candidate is the sum over the labels of all spans of its sentence, most of
which are not constituents in any candidate. So the first bracket around a span has the value log
P(label) - log P(no constituent), ``<eos>`` has the sum of log P(no constituent) over all spans, and
words and other brackets have 0. In place of a ``Trie``, ``SpanSequences`` lists each needed value
once, and the places of each candidate's values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.checkpoints.span_vocabulary import NO_LABEL, SpanVocabulary
from reranker.models.span_model import SpanModel, span_numbers
from reranker.process.cancellation import Cancellation
from reranker.scoring.span_table import Place, readings, remembered, table_of
from reranker.scoring.trie import Numbers
from reranker.trees.constituents import constituents
from reranker.trees.linearize import is_word

# Words of the longest sentence whose table is kept: it takes some 6 MB.
KEPT_WORDS = 100


class SentenceSpans:
    """A sentence, and the constituents of all its candidates."""

    def __init__(self, words: tuple[str, ...], eos_edge: int) -> None:
        self.words, self.eos_edge = words, eos_edge
        self.edges: dict[tuple[int, int, str], int] = {}
        """The edges by first word, word after the last, and label."""


class SpanSequences:
    """The sequences of one or more sentences. Edge 0 is worth 0; ``paths[i]`` are the edges of the
    tokens and the ``<eos>`` of sequence i."""

    def __init__(self, sequences: Sequence[Sequence[str]]) -> None:
        self.sentences: dict[tuple[str, ...], SentenceSpans] = {}
        self.edges = 1
        self.paths: list[Numbers] = [self._path(tokens) for tokens in sequences]

    def _path(self, tokens: Sequence[str]) -> Numbers:
        words = tuple(filter(is_word, tokens))
        sentence = self.sentences.get(words)
        if sentence is None:
            sentence = self.sentences[words] = SentenceSpans(words, self._new_edge())
        path = np.zeros(len(tokens) + 1, np.int64)
        path[-1] = sentence.eos_edge
        for start, end, label, place in constituents(tokens):
            edge = sentence.edges.get((start, end, label))
            if edge is None:
                edge = sentence.edges[start, end, label] = self._new_edge()
            path[place] = edge
        return path

    def _new_edge(self) -> int:
        self.edges += 1
        return self.edges - 1


def span_log_probabilities(
    model: SpanModel,
    vocabulary: SpanVocabulary,
    sequences: SpanSequences,
    cancellation: Cancellation | None = None,
) -> NDArray[np.float64]:
    """Return the value of every edge, in nats. Raises Stopped if cancelled."""
    values = np.zeros(sequences.edges)
    cancellation = cancellation or Cancellation()
    known = {
        words: remembered(model, words, _places(sentence, vocabulary))
        for words, sentence in sequences.sentences.items()
    }
    unread = readings(model, vocabulary, [words for words, found in known.items() if found is None])
    with torch.inference_mode():
        for words, sentence in cancellation.until_cancelled(sequences.sentences.items()):
            if found := known[words]:
                values[sentence.eos_edge], values[[*sentence.edges.values()]] = found
            else:
                rows = cancellation.until_cancelled(_label_rows(model, *next(unread)))
                _fill(values, sentence, _places(sentence, vocabulary), len(words), rows)
    return values


def _places(sentence: SentenceSpans, vocabulary: SpanVocabulary) -> list[Place]:
    """Return the place of each edge in a table."""
    return [(start, end - 1, vocabulary.label(label)) for start, end, label in sentence.edges]


def _fill(
    values: NDArray[np.float64],
    sentence: SentenceSpans,
    places: Sequence[Place],
    words: int,
    rows: Iterable[tuple[int, NDArray[np.float64]]],
) -> None:
    starts, lasts, labels = np.array(places, np.int64).reshape(-1, 3).T
    numbers = span_numbers(starts, lasts, words)
    edges = np.array([*sentence.edges.values()], np.int64)
    for first, some in rows:
        none = some[:, NO_LABEL]
        values[sentence.eos_edge] += none.sum()
        here = (numbers >= first) & (numbers < first + len(some))
        row = numbers[here] - first
        values[edges[here]] = some[row, labels[here]] - none[row]


def _label_rows(
    model: SpanModel, words: tuple[str, ...], data: torch.Tensor
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield ``SpanModel.label_log_probabilities`` from the result of ``read_one``; the table of a
    sentence that is not long is kept for the next who asks."""
    if len(words) <= KEPT_WORDS:
        labels = table_of(model, words, data).labels
        yield 0, labels[np.triu_indices(len(words))].astype(np.float64)
        return
    for first, some in model.label_log_probabilities(data):
        yield first, some.double().cpu().numpy()
