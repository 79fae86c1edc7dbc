"""Running text as a language model reads it, for the analyses that take ``--text``; and its
perplexity, of several models and of the average of their probabilities: the figures of language
modelling papers (Takase et al. 2018, Tables 3 and 6 to 8; Daniluk 2016, Tables 4.2 to 4.11)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.models.running import read_through
from reranker.plugins.analysis.classes import ALL, Total
from reranker.plugins.analysis.readings import LinearTree, ReadBatch, Tick, ignore, read_in_batches
from reranker.plugins.analysis.report import Report, grouped_bars, names
from reranker.text.running import OPENING, Line, encoded, is_mark, opening_id, read_running_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AVERAGE = "average"
Values = list[NDArray[np.float64]]  # of each text, log P of its tokens, [N]


class RunningText(NamedTuple):
    """A file of running text, read from the start state."""

    name: str
    lines: list[Line]

    def predicted(self) -> Iterator[list[str]]:
        """Yield the tokens of each line that a model predicts: ``<eos>`` at its end, no token of a
        line that opens an article."""
        for line in self.lines:
            is_opening = is_mark(line) and line[0] == OPENING
            yield [] if is_opening else [*line, *([] if is_mark(line) else [EOS])]


TreesOrTexts = Sequence[LinearTree] | Sequence[RunningText]


def read_texts(paths: Iterable[Path]) -> list[RunningText]:
    """Read the texts of these files. Raises InputError as ``read_running_text`` does."""
    paths = list(paths)
    return [
        RunningText(name, read_running_text([path]))
        for name, path in zip(names(paths), paths, strict=True)
    ]


def predicted_tokens(texts: Iterable[RunningText]) -> int:
    """Return the number of tokens that a model predicts in the texts."""
    return sum(len(line) for text in texts for line in text.predicted())


def read_batches(
    checkpoint: Checkpoint, data: TreesOrTexts, tick: Tick = ignore
) -> Iterator[ReadBatch]:
    """Read every tree from the start state, or every text with its state carried from line to line;
    in each column, later text comes in a later batch.

    Raises InputError for text and a backward model.
    """
    trees = [each for each in data if isinstance(each, LinearTree)]
    if trees:
        yield from read_in_batches(checkpoint, trees, tick)
    vocabulary = checkpoint.vocabulary
    for number, text in enumerate(each for each in data if isinstance(each, RunningText)):
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
    """Return log P in nats of every token that is predicted, in order: [N]."""
    read = read_batches(checkpoint, [text], tick)
    parts = [batch.log_probabilities(checkpoint).cpu() for batch in read]
    return torch.cat(parts).numpy() if parts else np.zeros(0)


def averaged(members: Sequence[Values]) -> Values:
    """Return the log of the members' mean probability, token by token."""
    return [
        np.logaddexp.reduce(np.stack(values), axis=0) - np.log(len(members))
        for values in zip(*members, strict=True)
    ]


def perplexity_report(
    texts: Sequence[RunningText], models: dict[str, Values], average: Values | None
) -> Report:
    """Report perplexity per token, ``<eos>`` of every line included, of each text and, if there are
    several, of all. The last row is the ``average`` of all models, if their vocabularies are the
    same."""
    names = [text.name for text in texts]
    values = {**models, **({} if average is None else {AVERAGE: average})}
    by_model = {name: _totals(names, each) for name, each in values.items()}
    first = next(iter(by_model.values()))
    rows = [("model", *first), ("tokens", *(str(total.tokens) for total in first.values()))]
    for name, totals in by_model.items():
        rows.append((name, *(f"{total.perplexity:.2f}" for total in totals.values())))
    data = [
        {"model": model, "texts": {name: total.to_json() for name, total in totals.items()}}
        for model, totals in by_model.items()
    ]
    return Report([rows], data, partial(_draw, by_model))


def _draw(models: dict[str, dict[str, Total]], figure: Figure) -> None:
    """Draw a group of bars for each text, a bar for each model."""
    axes = figure.subplots()
    heights = {
        model: [total.perplexity for total in totals.values()] for model, totals in models.items()
    }
    grouped_bars(axes, list(next(iter(models.values()))), heights)
    axes.set(title="Perplexity of running text", ylabel="perplexity per token")


def token_score_lines(texts: Sequence[RunningText], values: Values) -> Iterator[str]:
    """Yield a line of JSON for each line of the texts: its tokens that are predicted, and log P."""
    for text, scores in zip(texts, values, strict=True):
        start = 0
        for tokens in text.predicted():
            end = start + len(tokens)
            pairs = list(zip(tokens, scores[start:end].tolist(), strict=True))
            yield json.dumps(pairs, ensure_ascii=False) + "\n"
            start = end


def _totals(names: Sequence[str], values: Values) -> dict[str, Total]:
    totals = [Total(len(each), -float(each.sum())) for each in values]
    rows = dict(zip(names, totals, strict=True))
    if len(rows) > 1:
        tokens, nll = map(sum, zip(*totals, strict=True))
        rows[ALL] = Total(int(tokens), nll)
    return rows
