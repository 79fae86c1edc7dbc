"""The training data of span models: sentences with a label for every span."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from reranker.checkpoints.span_vocabulary import NO_LABEL, SpanVocabulary
from reranker.models.batch import PADDING, Batch, source_batch
from reranker.plugins.training.batches import Batches
from reranker.trees.constituents import constituents
from reranker.trees.linearize import TaggedTree


class LabelledSentence(NamedTuple):
    """A sentence of n words as ids; see ``SpanVocabulary.encode``."""

    words: list[int]  # n + 2
    features: list[list[int]]  # n + 2
    constituents: list[tuple[int, int, int]]  # start, end, label
    tags: list[int]  # n, PADDING for an unknown one; empty if the model knows none

    @property
    def length(self) -> int:
        """Return the number of words."""
        return len(self.words) - 2

    def targets(self) -> Tensor:
        """Return the label of every span, in the order of ``span_ends``, n (n + 1) / 2, then the
        tags."""
        size = self.length + 1
        labels = torch.full((size, size), NO_LABEL)
        for start, end, label in self.constituents:
            labels[start, end] = label
        spans = labels[tuple(torch.triu_indices(size, size, 1))]
        return torch.cat([spans, torch.tensor(self.tags, dtype=spans.dtype)])


def labelled(vocabulary: SpanVocabulary, tree: TaggedTree) -> LabelledSentence:
    """Return a tree as a model's numbers."""
    words = tree.words
    spans = [
        (each.start, each.end, vocabulary.label(each.label)) for each in constituents(tree.tokens)
    ]
    tags: list[int] = []
    if vocabulary.tags:
        known = len(tree.tags) == len(words)
        tags = [*map(vocabulary.tag, tree.tags)] if known else [PADDING] * len(words)
    return LabelledSentence(*vocabulary.encode(words), spans, tags)


class SpanBatches(Batches[list[int]]):
    """Batches of sentences with the same number of words, in a new random order in every epoch.

    Each holds at most ``most_words`` and ``most_spans``; a longer sentence is a batch of its own.
    """

    def __init__(
        self, sentences: Sequence[LabelledSentence], most_words: int, most_spans: int, seed: int
    ) -> None:
        self.sentences, self.most_words, self.most_spans = sentences, most_words, most_spans
        super().__init__(seed)

    def _planned(self, generator: random.Random) -> list[list[int]]:
        order = list(range(len(self.sentences)))
        generator.shuffle(order)
        plan = same_length(order, self.sentences, self.most_words, self.most_spans)
        generator.shuffle(plan)
        return plan

    def _batch(self, part: list[int]) -> Batch:
        batch = span_batch([self.sentences[number] for number in part])
        return batch._replace(sentences=tuple(part))


def same_length(
    numbers: Sequence[int], sentences: Sequence[LabelledSentence], most_words: int, most_spans: int
) -> list[list[int]]:
    """Return ``numbers`` of sentences in batches of equal length."""
    by_length: dict[int, list[int]] = {}
    for number in numbers:
        by_length.setdefault(sentences[number].length, []).append(number)
    plan = []
    for length, same in by_length.items():
        spans = length * (length + 1) // 2
        size = max(1, min(most_words // length, most_spans // spans))
        plan += [same[start : start + size] for start in range(0, len(same), size)]
    return plan


def span_batch(sentences: Sequence[LabelledSentence]) -> Batch:
    """Return a batch of sentences with the same number of words: their words, every span's label
    and every word's tag, and, as the source, their features."""
    return Batch(
        inputs=torch.tensor([sentence.words for sentence in sentences]).T.contiguous(),
        targets=torch.stack([sentence.targets() for sentence in sentences], dim=1),
        continues=False,
        source=source_batch([sentence.features for sentence in sentences]),
    )
