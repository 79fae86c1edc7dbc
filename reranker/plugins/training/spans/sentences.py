"""The training data of span models: sentences with a label for every span."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reranker.checkpoints.span_vocabulary import NO_LABEL, SpanVocabulary
from reranker.models.batch import PADDING, Batch
from reranker.plugins.training.corpus.batches import Batches
from reranker.trees.constituents import constituents
from reranker.trees.linearize import TaggedTree


class Lexicon:
    """The distinct words of the training data, each with a place. A word has dozens of numbers,
    with its pieces and spelling; they are kept once and looked up when a batch is made."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def places(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the places of a sentence's start, of its n words, and of its end, [n + 2]."""
        known = self._places
        for word in words:
            known.setdefault(word, len(known) + 1)
        return np.array([0, *map(known.__getitem__, words), -1], np.int32)

    def table(self, vocabulary: SpanVocabulary) -> WordTable:
        """Return the numbers of all words so far under a vocabulary."""
        rows, features = vocabulary.encode([*self._places])
        numbers = torch.tensor(features)
        columns = torch.arange(1, numbers.shape[1] + 1)
        return WordTable(torch.tensor(rows), numbers, ((numbers != PADDING) * columns).amax(1))


class WordTable(NamedTuple):
    """The numbers of V - 2 words under one vocabulary, between those of a sentence's start and end:
    see ``SpanVocabulary.encode``."""

    rows: Tensor  # [V]
    features: Tensor  # [V, F]
    widths: Tensor  # [V], the features of a word up to its last that is not PADDING

    def read(self, sentences: Sequence[NDArray[np.int32]]) -> tuple[Tensor, Tensor]:
        """Return the rows [n + 2, B] and features [n + 2, B, F] of B sentences of n words, given by
        their places."""
        places = torch.from_numpy(np.stack(sentences, 1)).long()
        return self.rows[places], self.features[:, : self.widths[places].max()][places]


class LabelledSentence(NamedTuple):
    """A sentence of n words as numbers."""

    words: NDArray[np.int32]  # n + 2, places in a lexicon
    constituents: NDArray[np.int32] | None  # [C, 3]: start, end, label; None: not known
    tags: list[int]  # n, PADDING for an unknown one; empty if the model knows none

    @property
    def length(self) -> int:
        """Return the number of words."""
        return len(self.words) - 2

    def targets(self) -> NDArray[np.int64]:
        """Return the label of every span, in the order of ``span_ends``, n (n + 1) / 2, then the
        tags. PADDING stands for what is not known."""
        length = self.length
        spans = length * (length + 1) // 2
        known = self.constituents
        targets = np.full(spans + len(self.tags), PADDING if known is None else NO_LABEL)
        if known is not None:
            start, end, label = known.T
            # Before the spans from ``start`` come those from each boundary to its left.
            targets[start * length - start * (start - 1) // 2 + end - start - 1] = label
        targets[spans:] = self.tags
        return targets


def labelled(vocabulary: SpanVocabulary, lexicon: Lexicon, tree: TaggedTree) -> LabelledSentence:
    """Return a tree as a model's numbers."""
    words = tree.words
    spans = [
        (each.start, each.end, vocabulary.label(each.label)) for each in constituents(tree.tokens)
    ]
    tags: list[int] = []
    if vocabulary.tags:
        known = len(tree.tags) == len(words)
        tags = [*map(vocabulary.tag, tree.tags)] if known else [PADDING] * len(words)
    found = np.array(spans, np.int32).reshape(-1, 3)
    return LabelledSentence(lexicon.places(words), found, tags)


def unlabelled(
    vocabulary: SpanVocabulary, lexicon: Lexicon, words: Sequence[str]
) -> LabelledSentence:
    """Return a sentence whose tree is not known, as a model's numbers."""
    tags = [PADDING] * len(words) if vocabulary.tags else []
    return LabelledSentence(lexicon.places(words), None, tags)


class SpanBatches(Batches[list[int]]):
    """Batches of sentences with the same number of words, in a new random order in every epoch.

    Each holds at most ``most_words`` and ``most_spans``; a longer sentence is a batch of its own.
    """

    def __init__(
        self,
        sentences: Sequence[LabelledSentence],
        table: WordTable,
        most_words: int,
        most_spans: int,
        seed: int,
    ) -> None:
        self.sentences, self.table = sentences, table
        self.most_words, self.most_spans = most_words, most_spans
        super().__init__(seed)

    def _planned(self, generator: random.Random) -> list[list[int]]:
        order = list(range(len(self.sentences)))
        generator.shuffle(order)
        plan = same_length(order, self.sentences, self.most_words, self.most_spans)
        generator.shuffle(plan)
        return plan

    def _batch(self, part: list[int]) -> Batch:
        batch = span_batch([self.sentences[number] for number in part], self.table)
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


def span_batch(sentences: Sequence[LabelledSentence], table: WordTable) -> Batch:
    """Return a batch of sentences with the same number of words: their words, every span's label
    and every word's tag, and, as the source, their features."""
    rows, features = table.read([sentence.words for sentence in sentences])
    targets = np.stack([sentence.targets() for sentence in sentences], 1)
    return Batch(rows, torch.from_numpy(targets), continues=False, source=features)
