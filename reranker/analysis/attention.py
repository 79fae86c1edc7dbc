"""Figures 4.1 and 4.2 of Daniluk 2016: which positions of the past attention goes to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from reranker.analysis.readings import LinearTree, Tick, readings
from reranker.analysis.report import aligned
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Reach(NamedTuple):
    """Which positions a model attends to: ``window`` of them, the last ``nearest`` steps back. 0 is
    the token just read (RM), 1 the one before it (Attention, Key-Value, Key-Value-Predict)."""

    window: int
    nearest: int

    @property
    def steps_back(self) -> range:
        """Of each entry of ``Features.attention``, the oldest first."""
        return range(self.nearest + self.window - 1, self.nearest - 1, -1)

    @property
    def farthest(self) -> int:
        """The first time step, from 0, at which the window is full."""
        return self.nearest + self.window - 1


def reach_of(checkpoint: Checkpoint) -> Reach | None:
    """None for a model without attention, or whose attention is inside its layers (LSTMN)."""
    start = torch.tensor([[checkpoint.vocabulary.eos]])
    with torch.no_grad():
        features, _ = checkpoint.model(start, checkpoint.model.initial_state(1))
    if features.attention is None:
        return None
    sees_itself = bool(features.attention.sum() > 0)  # nothing else can be seen at the start
    return Reach(features.attention.shape[-1], 0 if sees_itself else 1)


def checked_reach(checkpoint: Checkpoint, name: str) -> Reach:
    """Raises InputError for a model that ``reach_of`` has nothing to say about."""
    reach = reach_of(checkpoint)
    if reach is None:
        raise InputError(
            f"{name}: {checkpoint.model.architecture} has no attention to past positions that "
            "could be shown"
        )
    return reach


class Positions(NamedTuple):
    """The mean attention of a model to each position, the oldest first, and over how many tokens it
    was taken."""

    reach: Reach
    weights: tuple[float, ...]
    tokens: int


def attention_by_position(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], name: str, tick: Tick = lambda tokens: None
) -> Positions:
    """Over the tokens whose window is full: nearer to a tree's start, fewer positions share the
    attention. Raises InputError for a model without attention or trees that are all too short."""
    reach = checked_reach(checkpoint, name)
    sums = torch.zeros(reach.window, dtype=torch.float64)
    count = 0
    for reading in readings(checkpoint, trees, tick):
        assert reading.features.attention is not None
        full = reading.wanted[reach.farthest :]
        sums += reading.features.attention[reach.farthest :][full].double().sum(0)
        count += int(full.sum())
    if not count:
        raise InputError(f"{name}: no tree is longer than its window of {reach.window}")
    return Positions(reach, tuple((sums / count).tolist()), count)


@dataclass(frozen=True, slots=True)
class AttentionByPosition:
    """Figure 4.1: the average attention to each position of the window, for several models."""

    models: dict[str, Positions]

    def text(self) -> str:
        farthest = max(one.reach.farthest for one in self.models.values())
        nearest = min(one.reach.nearest for one in self.models.values())
        rows = [("steps back", *self.models)]
        for step in range(farthest, nearest - 1, -1):
            found = (_weight(one, step) for one in self.models.values())
            rows.append((str(step), *(f"{100 * w:.1f} %" if w is not None else "" for w in found)))
        rows.append(("tokens", *(str(one.tokens) for one in self.models.values())))
        return aligned(rows)

    def to_json(self) -> Any:
        return [
            {
                "model": name,
                "tokens": one.tokens,
                "attention": [
                    {"steps_back": step, "weight": weight}
                    for step, weight in zip(one.reach.steps_back, one.weights, strict=True)
                ],
            }
            for name, one in self.models.items()
        ]

    def draw(self, figure: Figure) -> None:
        """A row for each model, the most recent position on the right."""
        figure.set_size_inches(9, 1 + len(self.models))
        for axes, (name, one) in zip(
            figure.subplots(len(self.models), squeeze=False)[:, 0], self.models.items(), strict=True
        ):
            axes.imshow([one.weights], cmap="Blues", aspect="auto", vmin=0)
            for place, weight in enumerate(one.weights):
                colour = "white" if weight > max(one.weights) / 2 else "black"
                axes.text(place, 0, f"{100 * weight:.0f}", color=colour, ha="center", va="center")
            axes.set(title=name, yticks=[], xticks=range(one.reach.window))
            axes.set_xticklabels([str(step) for step in one.reach.steps_back])
        axes.set_xlabel("steps back; attention in %")


def _weight(positions: Positions, step: int) -> float | None:
    steps = positions.reach.steps_back
    return positions.weights[steps.index(step)] if step in steps else None


class Row(NamedTuple):
    """The attention of a model, the oldest position first, when it predicts a token."""

    token: str
    weights: tuple[float, ...]


Place = tuple[int, int]  # a tree's number and a token's in it as it is read, both from 0


def random_places(
    trees: Sequence[LinearTree], reaches: Sequence[Reach], count: int, seed: int
) -> list[Place]:
    """``count`` of the tokens (or all) at which every model's window is full, in their order.

    Raises InputError if there are none.
    """
    first = max(reach.farthest for reach in reaches)
    places = [
        (tree, token) for tree, one in enumerate(trees) for token in range(first, len(one.kinds))
    ]
    if not places:
        raise InputError(f"no tree has more than {first} tokens, so no window is ever full")
    return sorted(random.Random(seed).sample(places, min(count, len(places))))


def attention_at(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], places: Sequence[Place]
) -> list[Row]:
    """The rows of a model with attention at ``places``."""
    numbers = sorted({tree for tree, _ in places})
    found: dict[Place, tuple[float, ...]] = {}
    for reading in readings(checkpoint, [trees[number] for number in numbers]):
        assert reading.features.attention is not None
        column = {numbers[place]: column for column, place in enumerate(reading.places)}
        for tree, token in places:
            if tree in column:
                weights = reading.features.attention[token, column[tree]]
                found[tree, token] = tuple(weights.tolist())
    return [
        Row((*trees[tree].as_read(checkpoint).tokens, EOS)[token], found[tree, token])
        for tree, token in places
    ]


@dataclass(frozen=True, slots=True)
class AttentionSample:
    """Figure 4.2: attention at tokens drawn at random, the same for every model."""

    models: dict[str, tuple[Reach, list[Row]]]

    def text(self) -> str:
        return "\n\n".join(
            aligned(
                [
                    (name, *(str(step) for step in reach.steps_back)),
                    *((token, *(f"{100 * w:.0f}" for w in weights)) for token, weights in rows),
                ]
            )
            for name, (reach, rows) in self.models.items()
        )

    def to_json(self) -> Any:
        return [
            {
                "model": name,
                "steps_back": list(reach.steps_back),
                "tokens": [{"token": token, "weights": weights} for token, weights in rows],
            }
            for name, (reach, rows) in self.models.items()
        ]

    def draw(self, figure: Figure) -> None:
        """A map for each model: a token a row, the most recent position on the right."""
        count = max(len(rows) for _, rows in self.models.values())
        figure.set_size_inches(1 + 3.5 * len(self.models), 2 + 0.13 * count)
        for axes, (name, (reach, rows)) in zip(
            figure.subplots(1, len(self.models), squeeze=False)[0],
            self.models.items(),
            strict=True,
        ):
            image = axes.imshow(
                [weights for _, weights in rows], cmap="Blues", aspect="auto", vmin=0, vmax=1
            )
            axes.set(title=name, xlabel="steps back", xticks=range(reach.window))
            axes.set_xticklabels([str(step) for step in reach.steps_back])
            axes.set_yticks(range(len(rows)), [plain(token) for token, _ in rows], fontsize=7)
        figure.colorbar(image, ax=figure.axes, label="attention")


def plain(token: str) -> str:
    """For a picture, where dollar signs would start a formula."""
    return token.replace("$", r"\$")
