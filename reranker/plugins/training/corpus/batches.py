"""Training batches: of whole trees, of pairs, or of one long stream of trees or lines of text for
truncated BPTT.

All can return to any batch, so that a killed run resumes exactly.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import torch

from reranker.errors import ConfigError
from reranker.models.batch import PADDING, Batch, grouped_by_length, source_batch, whole_trees
from reranker.plugins.training.corpus.tree_files import TokenFile

_POOL_SIZE = 2_000  # trees or pairs

Part = TypeVar("Part")


class Batches(ABC, Generic[Part]):
    """An endless sequence of batches; an epoch's plan depends on seed and number alone."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.seek(0, 0)

    def next(self) -> Batch:
        if self.position == len(self._plan):
            self.seek(self.epoch + 1, 0)
        self.position += 1
        return self._batch(self._plan[self.position - 1])

    @property
    def progress(self) -> float:
        """Return the number of epochs done, including the fraction of the current one."""
        return self.epoch + self.position / len(self._plan)

    def seek(self, epoch: int, position: int) -> None:
        """Continue with batch number ``position`` of ``epoch``, both counted from 0."""
        self.epoch, self.position = epoch, position
        self._plan = self._planned(random.Random(f"{self.seed} {epoch}"))

    @abstractmethod
    def _planned(self, generator: random.Random) -> list[Part]:
        """Return the content of each batch of an epoch."""

    @abstractmethod
    def _batch(self, part: Part) -> Batch: ...


class _LengthBatches(Batches[Sequence[int]]):
    """Batches of examples of similar length, in a new random order in every epoch.

    Each holds at most ``batch_tokens``, padding included; a longer example is a batch of its own.
    """

    def __init__(self, lengths: Sequence[int], batch_tokens: int, seed: int) -> None:
        self._lengths, self._batch_tokens = lengths, batch_tokens
        super().__init__(seed)

    def _planned(self, generator: random.Random) -> list[Sequence[int]]:
        """Sort numbers by length within large random pools, so that batches need little padding.
        The numbers are in arrays, since there may be millions."""
        order = array("q", range(len(self._lengths)))
        generator.shuffle(order)
        plan: list[Sequence[int]] = [
            array("q", batch)
            for start in range(0, len(order), _POOL_SIZE)
            for batch in grouped_by_length(
                order[start : start + _POOL_SIZE], self._lengths, self._batch_tokens
            )
        ]
        generator.shuffle(plan)
        return plan


class TreeBatches(_LengthBatches):
    """The batches of whole trees."""

    def __init__(
        self, sequences: Sequence[Sequence[int]], eos: int, batch_tokens: int, seed: int
    ) -> None:
        self.sequences, self.eos = sequences, eos
        if isinstance(sequences, TokenFile):
            lengths = sequences.lengths()
        else:
            lengths = [*map(len, sequences)]
        super().__init__(lengths, batch_tokens, seed)

    def _batch(self, part: Sequence[int]) -> Batch:
        return whole_trees([self.sequences[number] for number in part], self.eos)


class EncodedPair(NamedTuple):
    """A source and its target, as ids."""

    source: list[tuple[int, ...]]  # the features of each position
    target: list[int]  # ends in <eos>

    @property
    def length(self) -> int:
        """Return the length that counts for the size of a batch."""
        return max(len(self.source), len(self.target))


class PairBatches(_LengthBatches):
    """The batches of pairs, whose length is that of the longer side."""

    def __init__(
        self, pairs: Sequence[EncodedPair], eos: int, batch_tokens: int, seed: int
    ) -> None:
        self.pairs, self.eos = pairs, eos
        super().__init__([pair.length for pair in pairs], batch_tokens, seed)

    def _batch(self, part: Sequence[int]) -> Batch:
        return pair_batch([self.pairs[number] for number in part], self.eos)


def pair_batch(pairs: Sequence[EncodedPair], eos: int) -> Batch:
    """Return a batch of these pairs, in order."""
    batch = whole_trees([pair.target for pair in pairs], eos)
    return batch._replace(source=source_batch([pair.source for pair in pairs]))


class StreamBatches(Batches[slice]):
    """All trees as one stream in ``batch_size`` columns, cut at random lengths, or all at
    ``length`` if they are not ``varied``.

    A random length is drawn around ``length`` (95%) or half of it (Merity et al. 2018, section 5).
    The stream starts at ``<eos>``, and each batch continues from the state of the one before it.
    The token ``opening`` is given, not predicted. Raises ConfigError if there are more columns than
    tokens.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int]],
        eos: int,
        batch_size: int,
        length: int,
        seed: int,
        varied: bool = True,
        opening: int = PADDING,
    ) -> None:
        if isinstance(sequences, TokenFile):
            stream = sequences.stream
        else:
            stream = torch.tensor([eos, *(number for ids in sequences for number in ids)])
        rows = (len(stream) - 1) // batch_size
        if rows < 1:
            raise ConfigError(f"batch_size is {batch_size}, but there are {len(stream) - 1} tokens")
        self._inputs = stream[: rows * batch_size].view(batch_size, rows).T
        self._targets = stream[1 : rows * batch_size + 1].view(batch_size, rows).T
        self.length, self.varied, self.opening = length, varied, opening
        super().__init__(seed)

    def _planned(self, generator: random.Random) -> list[slice]:
        plan, start = [], 0
        while start < len(self._inputs):
            end = start + (self._drawn(generator) if self.varied else self.length)
            plan.append(slice(start, min(end, len(self._inputs))))
            start = end
        return plan

    def _drawn(self, generator: random.Random) -> int:
        center = self.length if generator.random() < 0.95 else self.length / 2
        return max(5, round(generator.gauss(center, 5)))

    def _batch(self, part: slice) -> Batch:
        inputs, targets = (
            every[part].long().contiguous() for every in (self._inputs, self._targets)
        )
        targets = targets.masked_fill(targets == self.opening, PADDING)
        return Batch(inputs, targets, continues=part.start > 0, opening=self.opening)
