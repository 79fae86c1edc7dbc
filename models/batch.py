"""Padded batches: sequences of token ids side by side, each column one sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

PADDING = -1


class Batch(NamedTuple):
    """A batch of inputs that a model reads, and of targets that it must predict."""

    inputs: Tensor  # [T, B]
    targets: Tensor  # [T, B]; PADDING where there is nothing to predict
    continues: bool  # whether it starts from the state after the batch before it
    opening: int = PADDING  # read from the start state wherever it comes; PADDING: no token is
    source: Tensor | None = None  # [S, B, F], the input of an encoder; PADDING where nothing is
    sentences: tuple[int, ...] = ()  # [B], which of the training data, where that matters


def whole_trees(sequences: Sequence[Sequence[int]], eos: int) -> Batch:
    """Return a batch in which every tree starts from ``<eos>``, as in scoring; each of
    ``sequences`` ends in ``<eos>``."""
    length = max(map(len, sequences))
    inputs = torch.full((length, len(sequences)), eos)
    targets = torch.full((length, len(sequences)), PADDING)
    for column, ids in enumerate(sequences):
        row = torch.tensor(ids)
        targets[: len(ids), column] = row
        inputs[1 : len(ids), column] = row[:-1]
    return Batch(inputs, targets, continues=False)


def source_batch(sources: Sequence[Sequence[Sequence[int]]]) -> Tensor:
    """Return [S, B, F]: the features of each position of each source, PADDING where there is
    none."""
    width = max(len(features) for source in sources for features in source)
    batch = torch.full((max(map(len, sources)), len(sources), width), PADDING)
    for column, source in enumerate(sources):
        rows = [[*features, *[PADDING] * (width - len(features))] for features in source]
        batch[: len(source), column] = torch.tensor(rows)
    return batch


def grouped_by_length(
    numbers: Iterable[int], lengths: Sequence[int], batch_tokens: int
) -> Iterator[list[int]]:
    """Split ``numbers`` (indices into ``lengths``) into batches, shortest sequences first.

    A batch holds at most ``batch_tokens``, padding included; a longer sequence is on its own.

    >>> list(grouped_by_length(range(5), [3, 1, 9, 2, 1], batch_tokens=6))
    [[1, 4, 3], [0], [2]]
    """
    batch: list[int] = []
    for number in sorted(numbers, key=lambda number: lengths[number]):
        if batch and (len(batch) + 1) * lengths[number] > batch_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
