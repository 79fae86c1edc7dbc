"""Training batches: whole trees bucketed by length, or one long stream cut for truncated BPTT.

A batch is ``inputs`` and ``targets`` [T, B]; a target of -1 is padding. Both sources can be put
back to any batch they have handed out, which is what makes a killed run resume exactly.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from reranker.errors import ConfigError

PADDING = -1


class Batch(NamedTuple):
    inputs: Tensor
    targets: Tensor
    continues: bool  # the state after the batch before is this one's first state


def whole_trees(sequences: Sequence[Sequence[int]], eos: int) -> Batch:
    """A batch in which every tree starts from ``<eos>``, as in scoring; ``sequences`` end in it."""
    length = max(map(len, sequences))
    inputs = torch.full((length, len(sequences)), eos)
    targets = torch.full((length, len(sequences)), PADDING)
    for column, ids in enumerate(sequences):
        row = torch.tensor(ids)
        targets[: len(ids), column] = row
        inputs[1 : len(ids), column] = row[:-1]
    return Batch(inputs, targets, continues=False)


class TreeBatches:
    """Batches of whole trees in an endless shuffle.

    Each holds at most ``batch_tokens``, padding counted; a longer tree is a batch of its own.
    """

    def __init__(
        self, sequences: Sequence[Sequence[int]], eos: int, batch_tokens: int, seed: int
    ) -> None:
        self.sequences, self.eos = sequences, eos
        self.batch_tokens, self.seed = batch_tokens, seed
        self.epoch, self.position = 0, 0
        self._plan = self._shuffle()

    def next(self) -> Batch:
        if self.position == len(self._plan):
            self.seek(self.epoch + 1, 0)
        chosen = [self.sequences[number] for number in self._plan[self.position]]
        self.position += 1
        return whole_trees(chosen, self.eos)

    @property
    def progress(self) -> float:
        """Epochs done, with the fraction of the current one."""
        return self.epoch + self.position / len(self._plan)

    def seek(self, epoch: int, position: int) -> None:
        self.epoch, self.position = epoch, position
        self._plan = self._shuffle()

    def _shuffle(self) -> list[list[int]]:
        """Trees of like length share a batch: sorted within large random pools, then shuffled."""
        generator = random.Random(f"{self.seed} {self.epoch}")
        order = list(range(len(self.sequences)))
        generator.shuffle(order)
        plan: list[list[int]] = []
        pool_size = 2_000
        for start in range(0, len(order), pool_size):
            pool = sorted(order[start : start + pool_size], key=lambda n: len(self.sequences[n]))
            batch: list[int] = []
            for number in pool:
                if batch and (len(batch) + 1) * len(self.sequences[number]) > self.batch_tokens:
                    plan.append(batch)
                    batch = []
                batch.append(number)
            plan.append(batch)
        generator.shuffle(plan)
        return plan


class StreamBatches:
    """The paper's way: all trees as one stream in ``batch_size`` columns, cut at random lengths.

    The length is drawn around ``length`` (95 %) or half of it (Merity et al. 2018, section 5); the
    stream starts at ``<eos>`` and the state is carried from one batch to the next.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int]],
        eos: int,
        batch_size: int,
        length: int,
        seed: int,
    ) -> None:
        stream = torch.tensor([eos, *(number for ids in sequences for number in ids)])
        rows = (len(stream) - 1) // batch_size
        if rows < 1:
            raise ConfigError(f"batch_size is {batch_size}, but there are {len(stream) - 1} tokens")
        self._inputs = stream[: rows * batch_size].view(batch_size, rows).T.contiguous()
        self._targets = stream[1 : rows * batch_size + 1].view(batch_size, rows).T.contiguous()
        self.length, self.seed = length, seed
        self.epoch, self.position = 0, 0
        self._plan = self._cut()

    def next(self) -> Batch:
        if self.position == len(self._plan):
            self.seek(self.epoch + 1, 0)
        rows = self._plan[self.position]
        self.position += 1
        return Batch(self._inputs[rows], self._targets[rows], continues=self.position > 1)

    @property
    def progress(self) -> float:
        """Epochs done, with the fraction of the current one."""
        return self.epoch + self.position / len(self._plan)

    def seek(self, epoch: int, position: int) -> None:
        self.epoch, self.position = epoch, position
        self._plan = self._cut()

    def _cut(self) -> list[slice]:
        generator = random.Random(f"{self.seed} {self.epoch}")
        plan, start = [], 0
        while start < len(self._inputs):
            center = self.length if generator.random() < 0.95 else self.length / 2
            end = start + max(5, round(generator.gauss(center, 5)))
            plan.append(slice(start, min(end, len(self._inputs))))
            start = end
        return plan
