"""Figures 4.1 and 4.2 of Daniluk 2016: which positions of the past attention goes to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.plugins.analysis.readings import LinearTree, Tick, ignore, read_in_batches
from reranker.plugins.analysis.report import Report, panels, percent, without_formulas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AttentionWindow(NamedTuple):
    """The ``size`` positions that a model attends to, the most recent ``nearest`` steps back: 0 is
    the token just read (RM), 1 the one before it (Attention, Key-Value, Key-Value-Predict)."""

    size: int
    nearest: int

    @property
    def farthest(self) -> int:
        """Return the oldest position, in steps back; it is also the first time step, from 0, at
        which the window is full."""
        return self.nearest + self.size - 1

    @property
    def steps_back(self) -> range:
        """Return how many steps back each entry of ``Features.attention`` is, the oldest first."""
        return range(self.farthest, self.nearest - 1, -1)


def window_of(checkpoint: Checkpoint) -> AttentionWindow | None:
    """Return the window of a model; None for a model without attention, or with attention inside
    its layers (LSTMN)."""
    start = torch.tensor([[checkpoint.vocabulary.eos]])
    with torch.no_grad():
        features, _ = checkpoint.model(start, checkpoint.model.initial_state(1))
    if features.attention is None:
        return None
    sees_itself = bool(features.attention.sum() > 0)  # nothing else can be seen at the start
    return AttentionWindow(features.attention.shape[-1], 0 if sees_itself else 1)


def checked_window(checkpoint: Checkpoint, name: str) -> AttentionWindow:
    """Return the window of a model. Raises InputError for a model whose ``window_of`` is None."""
    window = window_of(checkpoint)
    if window is None:
        raise InputError(
            f"{name}: {checkpoint.model.architecture} has no attention to past positions to show"
        )
    return window


class Positions(NamedTuple):
    """A model's mean attention to each position, and over how many tokens it was taken."""

    window: AttentionWindow
    weights: dict[int, float]  # by steps back, the oldest first
    tokens: int


def attention_by_position(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], name: str, tick: Tick = ignore
) -> Positions:
    """Return the mean attention over the tokens whose window is full: near a tree's start, fewer
    positions share the attention. Raises InputError for a model without attention or trees that are
    all too short."""
    window = checked_window(checkpoint, name)
    sums = torch.zeros(window.size, dtype=torch.float64)
    count = 0
    for batch in read_in_batches(checkpoint, trees, tick):
        is_full = batch.is_token[window.farthest :]
        sums += batch.attention[window.farthest :][is_full].double().sum(0)
        count += int(is_full.sum())
    if not count:
        raise InputError(f"{name}: no tree is longer than its window of {window.size}")
    means = (sums / count).tolist()
    return Positions(window, dict(zip(window.steps_back, means, strict=True)), count)


def position_report(models: dict[str, Positions]) -> Report:
    """Report Figure 4.1: the average attention to each position of the window, by model."""
    steps = {step for positions in models.values() for step in positions.weights}
    shares = (
        (str(step), *(percent(each.weights.get(step)) for each in models.values()))
        for step in sorted(steps, reverse=True)
    )
    counts = (str(positions.tokens) for positions in models.values())
    data = [
        {
            "model": name,
            "tokens": positions.tokens,
            "attention": [
                {"steps_back": step, "weight": weight} for step, weight in positions.weights.items()
            ],
        }
        for name, positions in models.items()
    ]
    rows = [("steps back", *models), *shares, ("tokens", *counts)]
    return Report([rows], data, partial(_draw_positions, models))


def _draw_positions(models: dict[str, Positions], figure: Figure) -> None:
    """Draw a row for each model, the most recent position on the right."""
    figure.suptitle("Mean attention to each position, in %")
    all_axes = panels(figure, len(models), 1)
    for axes, (name, positions) in zip(all_axes, models.items(), strict=True):
        weights = list(positions.weights.values())
        axes.imshow([weights], cmap="Blues", aspect="auto", vmin=0)
        for place, weight in enumerate(weights):
            colour = "white" if weight > max(weights) / 2 else "black"
            axes.text(place, 0, f"{100 * weight:.0f}", color=colour, ha="center", va="center")
        axes.set(title=name, yticks=[])
        axes.set_xticks(range(len(weights)), list(map(str, positions.weights)))
    all_axes[-1].set_xlabel("position (tokens back)")


class AttentionRow(NamedTuple):
    """The attention of a model, the oldest position first, when it predicts a token."""

    token: str
    weights: tuple[float, ...]


Place = tuple[int, int]  # a tree's number and a token's in it as it is read, both from 0


def random_places(
    trees: Sequence[LinearTree], windows: Sequence[AttentionWindow], count: int, seed: int
) -> list[Place]:
    """Draw ``count`` of the tokens at which every model's window is full (or all, if fewer); return
    them in order.

    Raises InputError if there are none.
    """
    first = max(window.farthest for window in windows)
    places = [
        (number, token)
        for number, tree in enumerate(trees)
        for token in range(first, len(tree.kinds))
    ]
    if not places:
        raise InputError(f"no tree has more than {first} tokens, so no window is ever full")
    return sorted(random.Random(seed).sample(places, min(count, len(places))))


def attention_at(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], places: Sequence[Place]
) -> list[AttentionRow]:
    """Return the rows of a model with attention at ``places``."""
    numbers = sorted({number for number, _ in places})
    weights: dict[Place, tuple[float, ...]] = {}
    for batch in read_in_batches(checkpoint, [trees[number] for number in numbers]):
        column = {numbers[place]: column for column, place in enumerate(batch.numbers)}
        for number, token in places:
            if number in column:
                here = batch.attention[token, column[number]]
                weights[number, token] = tuple(here.tolist())
    return [
        AttentionRow(
            (*trees[number].as_read(checkpoint).tokens, EOS)[token], weights[number, token]
        )
        for number, token in places
    ]


Sample = tuple[AttentionWindow, list[AttentionRow]]


def sample_report(models: dict[str, Sample]) -> Report:
    """Report Figure 4.2: attention at tokens drawn at random, the same for every model."""
    tables = [
        [
            (name, *map(str, window.steps_back)),
            *((token, *(f"{100 * w:.0f}" for w in weights)) for token, weights in rows),
        ]
        for name, (window, rows) in models.items()
    ]
    data = [
        {
            "model": name,
            "steps_back": list(window.steps_back),
            "tokens": [row._asdict() for row in rows],
        }
        for name, (window, rows) in models.items()
    ]
    return Report(tables, data, partial(_draw_sample, models))


def _draw_sample(models: dict[str, Sample], figure: Figure) -> None:
    """Draw a map for each model: one row per token, the most recent position on the right."""
    count = max(len(rows) for _, rows in models.values())
    figure.set_size_inches(1 + 3.5 * len(models), 2 + 0.13 * count)
    figure.suptitle("Attention at random tokens")
    all_axes = figure.subplots(1, len(models), squeeze=False)[0]
    for axes, (name, (window, rows)) in zip(all_axes, models.items(), strict=True):
        weights = [row.weights for row in rows]
        image = axes.imshow(weights, cmap="Blues", aspect="auto", vmin=0, vmax=1)
        axes.set(title=name, xlabel="position (tokens back)")
        axes.set_xticks(range(window.size), list(map(str, window.steps_back)))
        tokens = [without_formulas(row.token) for row in rows]
        axes.set_yticks(range(len(rows)), tokens, fontsize=7)
    all_axes[0].set_ylabel("token predicted")
    figure.colorbar(image, ax=figure.axes, label="attention (share)")
