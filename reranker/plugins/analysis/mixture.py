"""The weights of a mixture of softmaxes, by component and by layer."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.models import LanguageModel
from reranker.plugins.analysis.readings import Tick, ignore
from reranker.plugins.analysis.report import Report, legend_beside, panels, percent
from reranker.plugins.analysis.running_text import TreesOrTexts, read_batches
from reranker.trees.linearize import is_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREDICTED = ("words", "opening", "closing", "end")  # kinds of the next token


@dataclass(frozen=True, slots=True)
class MixtureWeights:
    """pi of one model, summed over the tokens of some trees or texts."""

    model: str
    layers: tuple[str, ...]  # where each of the J components comes from
    by_predicted: dict[str, tuple[float, ...]]  # for each of PREDICTED: each component's sum of pi
    tokens: dict[str, int]  # for each of PREDICTED: the number of tokens

    @property
    def summed(self) -> tuple[float, ...]:
        """Return B of equation 12."""
        return tuple(map(sum, zip(*self.by_predicted.values(), strict=True)))

    @property
    def variation(self) -> float:
        """Return sqrt(beta) = std(B) / avg(B); std divides by J - 1, as the authors' code does."""
        return statistics.stdev(self.summed) / statistics.mean(self.summed)

    @property
    def mean(self) -> tuple[float, ...]:
        """Return each component's mean pi."""
        total = sum(self.tokens.values())
        return tuple(component / total for component in self.summed)

    @property
    def components_of_layer(self) -> dict[str, int]:
        """Return the number of components of each layer that has some, the lowest layer first."""
        return dict(Counter(self.layers))

    def of_layer(self, layer: str, predicted: str | None = None) -> float:
        """Return a layer's mean share of the mixture, over the tokens that are ``predicted`` (None:
        all tokens); NaN if there are no such tokens."""
        sums = self.summed if predicted is None else self.by_predicted[predicted]
        count = sum(self.tokens.values()) if predicted is None else self.tokens[predicted]
        total = sum(value for value, each in zip(sums, self.layers, strict=True) if each == layer)
        return total / count if count else math.nan


def component_layers(model: LanguageModel) -> tuple[str, ...]:
    """Return the layer from which each component of the mixture is computed, in order; nothing for
    a model with one softmax."""
    config = model.config
    if sum(config.components) < 2:
        return ()
    names = ["embedding", *(f"layer {n}" for n, _ in enumerate(config.hidden_sizes, 1)), "h*"]
    return tuple(
        names[layer] for layer, count in enumerate(config.components) for _ in range(count)
    )


def mixture_weights(
    checkpoint: Checkpoint, data: TreesOrTexts, name: str, tick: Tick = ignore
) -> MixtureWeights:
    """Return the weights of a model's mixture. Raises InputError for a model with one softmax."""
    layers = component_layers(checkpoint.model)
    if not layers:
        raise InputError(f"{name} has only one softmax, so there is no mixture to analyse")
    kinds = torch.tensor([_predicted(symbol) for symbol in checkpoint.vocabulary.symbols])
    sums = torch.zeros(len(PREDICTED), len(layers), dtype=torch.float64)
    counts = torch.zeros(len(PREDICTED), dtype=torch.long)
    for batch in read_batches(checkpoint, data, tick):
        is_token = batch.is_token
        following = kinds[batch.targets[is_token].cpu()]
        sums.index_add_(0, following, batch.features.log_weights[is_token].cpu().double().exp())
        counts += torch.bincount(following, minlength=len(PREDICTED))
    return MixtureWeights(
        name,
        layers,
        dict(zip(PREDICTED, map(tuple, sums.tolist()), strict=True)),
        dict(zip(PREDICTED, counts.tolist(), strict=True)),
    )


def variation_report(models: Sequence[MixtureWeights]) -> Report:
    """Report Table 4 of Takase et al. 2018: the coefficient of variation of pi.

    sqrt(beta) of equation 13, where B sums pi over all tokens (in training, over those
    of a mini-batch). 0: all components have the same weight; sqrt(J): one has all the weight.
    """
    rows: list[tuple[str, ...]] = [
        ("model", "softmaxes", "coefficient of variation", "least pi", "greatest pi")
    ]
    for model in models:
        pi = model.mean
        values = (model.variation, min(pi), max(pi))
        rows.append((model.model, str(len(pi)), *(f"{value:.3f}" for value in values)))
    data = [
        {
            "model": model.model,
            "tokens": sum(model.tokens.values()),
            "coefficient_of_variation": model.variation,
            "mean_pi": model.mean,
            "layers": model.layers,
        }
        for model in models
    ]
    return Report([rows], data, partial(_draw_variation, models))


def _draw_variation(models: Sequence[MixtureWeights], figure: Figure) -> None:
    """Draw a bar for each component's mean pi, coloured by layer."""
    for axes, model in zip(panels(figure, len(models), 2), models, strict=True):
        numbers = range(1, len(model.layers) + 1)
        bars = list(zip(numbers, model.mean, model.layers, strict=True))
        for layer in model.components_of_layer:
            of_layer = [(number, pi) for number, pi, each in bars if each == layer]
            axes.bar(*zip(*of_layer, strict=True), label=layer)
        axes.axhline(1 / len(bars), color="black", linestyle=":", label="equal weights")
        title = f"{model.model}: coefficient of variation {model.variation:.3f}"
        axes.set(title=title, xlabel="softmax (number)", ylabel="mean pi", xticks=numbers)
        legend_beside(axes)


def layer_report(models: Sequence[MixtureWeights]) -> Report:
    """Report the share of the mixture that comes from each layer: the mean over tokens of the sum
    of pi_j over the layer's components j; over all tokens, and over the tokens before a word, an
    opening or closing bracket or the end."""
    rows: list[tuple[str, ...]] = [("model", "layer", "softmaxes", "of them", "weight", *PREDICTED)]
    data = []
    for model in models:
        layers = {}
        for layer, count in model.components_of_layer.items():
            weight, by_predicted = (
                model.of_layer(layer),
                {each: model.of_layer(layer, each) for each in PREDICTED},
            )
            shares = [count / len(model.layers), weight, *by_predicted.values()]
            rows.append((model.model, layer, str(count), *map(percent, shares)))
            layers[layer] = {"softmaxes": count, "weight": weight, **by_predicted}
        data.append({"model": model.model, "tokens": model.tokens, "layers": layers})
    return Report([rows], data, partial(_draw_layers, models), left=2)


def _draw_layers(models: Sequence[MixtureWeights], figure: Figure) -> None:
    """Draw for each model a column for all tokens and one for each kind, the layers stacked."""
    figure.suptitle("Weight of each layer in the mixture")
    for axes, model in zip(panels(figure, len(models), 2.5), models, strict=True):
        columns = [None, *(each for each in PREDICTED if model.tokens[each])]
        bottom = [0.0] * len(columns)
        for layer in model.components_of_layer:
            heights = [model.of_layer(layer, each) for each in columns]
            axes.bar([each or "all" for each in columns], heights, bottom=bottom, label=layer)
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        axes.set(title=model.model, xlabel="next token", ylabel="weight (share)")
        legend_beside(axes)


def _predicted(symbol: str) -> int:
    """Return the place in PREDICTED of a symbol of the vocabulary."""
    if symbol == EOS:
        return PREDICTED.index("end")
    if is_word(symbol):
        return PREDICTED.index("words")
    return PREDICTED.index("opening" if symbol[0] == "(" else "closing")
