"""How a mixture of softmaxes shares its weight among its components, and among the layers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from reranker.analysis.readings import LinearTree, Tick, readings
from reranker.analysis.report import aligned
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.models import LanguageModel
from reranker.trees.linearize import is_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREDICTED = ("words", "opening", "closing", "end")  # what the next token is


@dataclass(frozen=True, slots=True)
class Weights:
    """pi of one model, summed over the tokens of some trees."""

    model: str
    layers: tuple[str, ...]  # where each of the J components comes from
    by_predicted: dict[str, tuple[float, ...]]  # of PREDICTED: the sum of each component's pi
    tokens: dict[str, int]  # of PREDICTED: how many of the tokens were that

    @property
    def summed(self) -> tuple[float, ...]:
        """B of equation 12."""
        return tuple(map(sum, zip(*self.by_predicted.values(), strict=True)))

    @property
    def variation(self) -> float:
        """sqrt(beta) = std(B) / avg(B); std divides by J - 1, as the authors' code does."""
        return statistics.stdev(self.summed) / statistics.mean(self.summed)

    @property
    def mean(self) -> tuple[float, ...]:
        """Each component's mean pi."""
        total = sum(self.tokens.values())
        return tuple(one / total for one in self.summed)

    def of_layer(self, layer: str, predicted: str | None = None) -> float:
        """The mean share of a layer's components together, where ``predicted`` comes next (None:
        anywhere); not a number if it never does."""
        sums = self.summed if predicted is None else self.by_predicted[predicted]
        count = sum(self.tokens.values()) if predicted is None else self.tokens[predicted]
        share = sum(one for one, where in zip(sums, self.layers, strict=True) if where == layer)
        return share / count if count else float("nan")


def component_layers(model: LanguageModel) -> tuple[str, ...]:
    """The layer each component of the mixture is computed from, in their order; empty for a model
    of one softmax."""
    config = model.config
    if sum(config.components) < 2:
        return ()
    names = ["embedding", *(f"layer {n}" for n, _ in enumerate(config.hidden_sizes, 1)), "h*"]
    return tuple(
        names[layer] for layer, count in enumerate(config.components) for _ in range(count)
    )


def mixture_weights(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], name: str, tick: Tick = lambda tokens: None
) -> Weights:
    """Raises InputError for a model of one softmax."""
    layers = component_layers(checkpoint.model)
    if not layers:
        raise InputError(f"{name}: has one softmax, so there is no mixture to weigh")
    kinds = torch.tensor([_predicted(symbol) for symbol in checkpoint.vocabulary.symbols])
    sums = torch.zeros(len(PREDICTED), len(layers), dtype=torch.float64)
    counts = torch.zeros(len(PREDICTED), dtype=torch.long)
    for reading in readings(checkpoint, trees, tick):
        following = kinds[reading.targets[reading.wanted]]
        sums.index_add_(0, following, reading.features.log_weights[reading.wanted].double().exp())
        counts += torch.bincount(following, minlength=len(PREDICTED))
    return Weights(
        name,
        layers,
        dict(zip(PREDICTED, map(tuple, sums.tolist()), strict=True)),
        dict(zip(PREDICTED, counts.tolist(), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class Variation:
    """Table 4 of Takase et al. 2018: the coefficient of variation of pi.

    sqrt(beta) of equation 13, where B sums pi over all tokens of the trees (in training, over those
    of a mini-batch). 0: all components count alike; sqrt(J): one has all the weight.
    """

    models: tuple[Weights, ...]

    def text(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("model", "softmaxes", "coefficient of variation", "least pi", "greatest pi")
        ]
        for one in self.models:
            weights = one.mean
            figures = (one.variation, min(weights), max(weights))
            rows.append((one.model, str(len(weights)), *(f"{figure:.3f}" for figure in figures)))
        return aligned(rows)

    def to_json(self) -> Any:
        return [
            {
                "model": one.model,
                "tokens": sum(one.tokens.values()),
                "coefficient_of_variation": one.variation,
                "mean_pi": one.mean,
                "layers": one.layers,
            }
            for one in self.models
        ]

    def draw(self, figure: Figure) -> None:
        """A bar for each component's mean pi, coloured by layer."""
        figure.set_size_inches(8, 1.5 + 2 * len(self.models))
        for axes, one in zip(
            figure.subplots(len(self.models), squeeze=False)[:, 0], self.models, strict=True
        ):
            bars = list(enumerate(one.mean, 1))
            for layer in dict.fromkeys(one.layers):
                mine = [bar for bar, where in zip(bars, one.layers, strict=True) if where == layer]
                axes.bar(*zip(*mine, strict=True), label=layer)
            axes.axhline(1 / len(bars), color="black", linestyle=":", label="all alike")
            title = f"{one.model}: coefficient of variation {one.variation:.3f}"
            axes.set(
                title=title, xlabel="softmax", ylabel="mean pi", xticks=range(1, len(bars) + 1)
            )
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))  # beside the bars


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """The share of the mixture that comes from each layer: the mean over tokens of the sum of pi_j
    over the layer's components j; of all tokens, and of those that come before a word, an opening
    or closing bracket or the end."""

    models: tuple[Weights, ...]

    def text(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("model", "layer", "softmaxes", "of them", "weight", *PREDICTED)
        ]
        for one in self.models:
            for layer in dict.fromkeys(one.layers):
                count = one.layers.count(layer)
                shares = [count / len(one.layers), one.of_layer(layer)]
                shares += [one.of_layer(layer, each) for each in PREDICTED]
                rows.append((one.model, layer, str(count), *(f"{100 * s:.1f} %" for s in shares)))
        return aligned(rows, left=2)

    def to_json(self) -> Any:
        return [
            {
                "model": one.model,
                "tokens": one.tokens,
                "layers": {
                    layer: {
                        "softmaxes": one.layers.count(layer),
                        "weight": one.of_layer(layer),
                        # None, not NaN, which JSON does not have
                        **{p: one.of_layer(layer, p) if one.tokens[p] else None for p in PREDICTED},
                    }
                    for layer in dict.fromkeys(one.layers)
                },
            }
            for one in self.models
        ]

    def draw(self, figure: Figure) -> None:
        """For each model a column for all tokens and each kind of them, the layers piled up."""
        figure.set_size_inches(8, 1.5 + 2.5 * len(self.models))
        for axes, one in zip(
            figure.subplots(len(self.models), squeeze=False)[:, 0], self.models, strict=True
        ):
            columns = [None, *(each for each in PREDICTED if one.tokens[each])]
            bottom = [0.0] * len(columns)
            for layer in dict.fromkeys(one.layers):
                heights = [one.of_layer(layer, each) for each in columns]
                axes.bar([each or "all" for each in columns], heights, bottom=bottom, label=layer)
                bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
            axes.set(title=one.model, xlabel="next token", ylabel="weight in the mixture")
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))  # beside the bars


def _predicted(symbol: str) -> int:
    """The place in PREDICTED of a vocabulary's symbol."""
    if symbol == EOS:
        return PREDICTED.index("end")
    if is_word(symbol):
        return PREDICTED.index("words")
    return PREDICTED.index("opening" if symbol[0] == "(" else "closing")
