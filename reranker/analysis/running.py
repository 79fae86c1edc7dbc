"""Running text as a language model reads it, for the analyses that take ``--text``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.analysis.readings import LinearTree, ReadBatch, Tick, ignore, read_in_batches
from reranker.analysis.report import names
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.models.running import read_through
from reranker.text.running import OPENING, Line, encoded, is_mark, opening_id, read_running_text


class RunningText(NamedTuple):
    """A file of running text, read from the start state."""

    name: str
    lines: list[Line]

    def predicted(self) -> Iterator[list[str]]:
        """The tokens of each line that a model predicts: ``<eos>`` at its end, none of a line that
        opens an article."""
        for line in self.lines:
            is_opening = is_mark(line) and line[0] == OPENING
            yield [] if is_opening else [*line, *([] if is_mark(line) else [EOS])]


Source = Sequence[LinearTree] | Sequence[RunningText]


def read_texts(paths: Iterable[Path]) -> list[RunningText]:
    """The texts of these files. Raises InputError as ``read_running_text`` does."""
    paths = list(paths)
    return [
        RunningText(name, read_running_text([path]))
        for name, path in zip(names(paths), paths, strict=True)
    ]


def predicted_tokens(texts: Iterable[RunningText]) -> int:
    """How many tokens a model predicts in them."""
    return sum(len(line) for text in texts for line in text.predicted())


def read_source(checkpoint: Checkpoint, source: Source, tick: Tick = ignore) -> Iterator[ReadBatch]:
    """Read every tree from the start state, or every text with its state carried from line to line;
    in each column, later text comes in a later batch.

    Raises InputError for text and a backward model.
    """
    trees = [each for each in source if isinstance(each, LinearTree)]
    if trees:
        yield from read_in_batches(checkpoint, trees, tick)
    vocabulary = checkpoint.vocabulary
    for number, text in enumerate(each for each in source if isinstance(each, RunningText)):
        if vocabulary.backward:
            raise InputError(f"{checkpoint.name}: a backward model, which cannot read running text")
        ids = list(chain.from_iterable(encoded(vocabulary, text.lines)))
        opening = opening_id(vocabulary)
        for features, targets in read_through(checkpoint.model, ids, vocabulary.eos, opening):
            batch = ReadBatch([number], features, targets)
            yield batch
            tick(int(batch.is_token.sum()))


def text_log_probabilities(
    checkpoint: Checkpoint, text: RunningText, tick: Tick = ignore
) -> NDArray[np.float64]:
    """log P in nats of every token that is predicted, in order: [N]."""
    parts = []
    for batch in read_source(checkpoint, [text], tick):
        is_token = batch.is_token
        values = checkpoint.model.target_log_probability(
            batch.features.at(is_token), batch.targets[is_token]
        )
        parts.append(values.double().cpu())
    return torch.cat(parts).numpy() if parts else np.zeros(0)
