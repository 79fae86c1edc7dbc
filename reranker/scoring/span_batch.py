"""Sentences that a span model reads at once, and whose charts are filled at once, for a GPU, where
several sentences take as long as one. Numbers differ from those of a sentence alone in the last
bits, which depend on the other sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reranker.chart.best import Chart, Derivation, Gains, Span
from reranker.chart.k_best import k_best
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL, SpanVocabulary
from reranker.models.batch import grouped_by_length
from reranker.models.charts import best_trees, constituent_probabilities
from reranker.models.span_model import SpanModel
from reranker.nbest.data import LEAST_PROBABILITY
from reranker.scoring.span_table import TreeValues, Words, inputs_of, keep

_WORDS, _NUMBERS = 4_096, 1 << 24  # of the sentences read at once, unless one alone has more
_NUMBERS_AT_ONCE = 1 << 23  # of the spans whose labels are computed at once


class Brackets(NamedTuple):
    """The constituents that are not improbable, ordered by place and label."""

    places: NDArray[np.int64]  # the first and the last word, [C, 2]
    labels: NDArray[np.int64]  # [C], numbered without the labels that have no name
    probabilities: NDArray[np.float64]  # [C]
    entropy: float  # of the distribution over trees, in nats


class Reading(NamedTuple):
    """The results of the model and a chart for a sentence."""

    tags: NDArray[np.float32]  # as in ``SpanTable``, [n, T]
    brackets: Brackets
    trees: Sequence[Derivation]  # the best
    values: TreeValues  # of these trees


def batches(lengths: Sequence[int], label_count: int) -> Iterator[list[int]]:
    """Yield the numbers of the sentences to read at once, the shortest first: some thousand words,
    and tables of 64 MB."""
    per_word = _NUMBERS // _WORDS
    costs = [max(per_word * n, n * (n + 1) // 2 * label_count) for n in lengths]
    return grouped_by_length(range(len(costs)), costs, _NUMBERS)


def read_batch(
    model: SpanModel,
    vocabulary: SpanVocabulary,
    sentences: Sequence[Words],
    temperature: float,
    most: int,
) -> Iterator[Reading]:
    """Read the sentences of a batch and find the ``most`` best trees of each; keep their values for
    ``remembered``. Scores are divided by ``temperature`` before probabilities are made of them."""
    with torch.inference_mode():
        batch = _Batch(model, vocabulary, sentences, temperature)
        tags, brackets = batch.tags(), batch.brackets()
        found = batch.best_trees() if most == 1 else batch.best_lists(most)
    parts = zip(sentences, tags, brackets, found, strict=True)
    for words, own_tags, own_brackets, (trees, values) in parts:
        keep(model, words, values._replace(tags=own_tags.copy()))
        yield Reading(own_tags, own_brackets, trees, values)


_Found = tuple[Sequence[Derivation], TreeValues]


class _Batch:
    """The sentences' spans, S in all, and for each its labels, on the model's device."""

    def __init__(
        self,
        model: SpanModel,
        vocabulary: SpanVocabulary,
        sentences: Sequence[Words],
        temperature: float,
    ) -> None:
        device = model.embedding.device
        rows, features, lengths = inputs_of(vocabulary, sentences)
        data = model.read_together(rows.to(device), features.to(device), lengths)
        self.lengths = [*map(len, sentences)]
        self.words = torch.tensor(self.lengths, device=device)
        self.temperature = temperature
        longest = max(self.lengths)
        starts, widths = (torch.arange(n, device=device) for n in (longest, longest + 1))
        is_span = (widths > 0) & (starts[:, None] + widths <= self.words[:, None, None])
        self.shape = is_span.shape
        self.spans = is_span.nonzero()  # [S, 3]: sentence, start, width
        self.places = self._places(self.spans)
        config = model.config
        self.step = max(1, _NUMBERS_AT_ONCE // max(config.span_size, config.label_count))
        self.labels = self._labels(model, data)  # log P of every label of every span, [S, L]
        self.tag_table = model.tag_logits(data).log_softmax(2) if config.tag_count else None

    def _labels(self, model: SpanModel, data: Tensor) -> Tensor:
        left, right = model.boundaries(data)
        labels = data.new_empty(len(self.spans), model.config.label_count)
        parts = zip(*(torch.split(each, self.step) for each in (self.spans, labels)), strict=True)
        for spans, into in parts:
            sentences, starts, widths = spans.unbind(1)
            logits = model.logits(left[starts, sentences] + right[starts + widths, sentences])
            torch.log_softmax(logits, 1, out=into)
        return labels

    def tags(self) -> list[NDArray[np.float32]]:
        """Return each sentence's tags."""
        if self.tag_table is None:
            return [np.zeros((words, 0), np.float32) for words in self.lengths]
        tags = self.tag_table.float().cpu().numpy()
        return [tags[:words, number] for number, words in enumerate(self.lengths)]

    def best_lists(self, most: int) -> Iterator[_Found]:
        """Return the best trees of each sentence, which the CPU finds one by one."""
        labels = self.labels.float().cpu().numpy()
        return (_best_few(own, words, most) for own, words in self._by_sentence(labels))

    def _by_sentence(
        self, labels: NDArray[np.float32]
    ) -> Iterator[tuple[NDArray[np.float32], int]]:
        first = 0
        for words in self.lengths:
            spans = words * (words + 1) // 2
            yield labels[first : first + spans], words
            first += spans

    def best_trees(self) -> Iterator[_Found]:
        """Return the best tree of each sentence."""
        best, labels = self._named(self.labels).max(1)
        none = self.labels[:, NO_LABEL].double()
        gains = self._dense(best.double() - none)
        scores, spans = best_trees(gains, self.words)
        places = self._places(spans)
        of_spans = self._dense(labels).flatten()[places]
        without = self._dense(none).flatten(1).sum(1)
        sentences, starts, widths, labels_of = _columns(spans, of_spans).tolist()
        gains_of = gains.flatten()[places].tolist()
        trees: list[list[Span]] = [[] for _ in self.lengths]
        values: list[dict[tuple[int, int, int], float]] = [{} for _ in self.lengths]
        for number, start, width, label, gain in zip(
            sentences, starts, widths, labels_of, gains_of, strict=True
        ):
            trees[number].append(Span(start, start + width, label))
            values[number][start, start + width - 1, label + RARE_LABEL + 1] = gain
        summaries = zip(scores.tolist(), without.tolist(), trees, values, strict=True)
        return (
            ([Derivation(score, tuple(tree))], TreeValues(alone, own))
            for score, alone, tree, own in summaries
        )

    def brackets(self) -> list[Brackets]:
        """Return each sentence's brackets."""
        parts = [self._summaries(some) for some in torch.split(self.labels, self.step)]
        sums, means = (torch.cat(each).double() for each in zip(*parts, strict=True))
        log_partitions, weights = constituent_probabilities(self._dense(sums), self.words)
        entropies = log_partitions - (weights * self._dense(means)).flatten(1).sum(1)
        weights = weights.flatten()[self.places]
        rows, labels, values = [], [], []
        for some in torch.split((weights >= LEAST_PROBABILITY).nonzero()[:, 0], self.step):
            logs = self._scores(self.labels[some]) - sums[some, None]
            probabilities = weights[some, None] * logs.exp()
            row, label = (probabilities >= LEAST_PROBABILITY).nonzero(as_tuple=True)
            rows.append(some[row])
            labels.append(label)
            values.append(probabilities[row, label])
        found = _columns(self.spans[torch.cat(rows)], torch.cat(labels))
        sentences, starts, widths, of_labels = found
        of_values = torch.cat(values).cpu().numpy()
        places = np.stack([starts, starts + widths - 1], 1)
        bounds = np.searchsorted(sentences, np.arange(len(self.lengths) + 1)).tolist()
        return [
            Brackets(places[a:b], of_labels[a:b], of_values[a:b], max(0.0, entropy))
            for entropy, a, b in zip(entropies.tolist(), bounds, bounds[1:], strict=False)
        ]

    def _named(self, labels: Tensor) -> Tensor:
        return labels[:, RARE_LABEL + 1 :]

    def _scores(self, labels: Tensor) -> Tensor:
        return (self._named(labels) - labels[:, NO_LABEL, None]) / self.temperature

    def _summaries(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the sum over labels of exp(score), and the mean score."""
        scores = self._scores(labels)
        sums = scores.logsumexp(1)
        return sums, ((scores - sums[:, None]).exp_() * scores).sum(1)

    def _places(self, spans: Tensor) -> Tensor:
        """Return the places of spans in an array of sentences, starts and widths."""
        sentences, starts, widths = spans.unbind(1)
        return (sentences * self.shape[1] + starts) * self.shape[2] + widths

    def _dense(self, values: Tensor) -> Tensor:
        """Return the spans' values by sentence, start and width, [B, n, n + 1]; 0 elsewhere."""
        dense = values.new_zeros(self.shape.numel())
        dense[self.places] = values
        return dense.view(self.shape)


def _best_few(labels: NDArray[np.float32], words: int, most: int) -> _Found:
    """Return the best trees of a sentence, from its spans' labels."""
    table = np.zeros((words, words, labels.shape[1]), np.float32)
    table[np.tri(words, dtype=bool).T] = labels
    gains = Gains.of_table(table, NO_LABEL, RARE_LABEL + 1)
    trees = k_best(Chart(gains), most)
    spans = {span for tree in trees for span in tree.spans}
    starts, ends, numbers = np.array([*spans], np.int64).reshape(-1, 3).T
    places = zip(
        starts.tolist(), (ends - 1).tolist(), (numbers + RARE_LABEL + 1).tolist(), strict=True
    )
    values = gains.labels[starts, ends - 1, numbers].astype(np.float64)
    values -= gains.none[starts, ends - 1]
    return trees, TreeValues(gains.without, dict(zip(places, values.tolist(), strict=True)))


def _columns(spans: Tensor, labels: Tensor) -> NDArray[np.int64]:
    """Copy spans and their labels from the device: sentences, starts, widths, labels."""
    return torch.cat([spans, labels[:, None]], 1).T.contiguous().cpu().numpy()
