"""Figures 4.3 to 4.5 of Daniluk 2016: one prediction as several models make it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.perplexity import perplexity
from reranker.plugins.analysis.attention import window_of
from reranker.plugins.analysis.readings import LinearTree, read_in_batches
from reranker.plugins.analysis.report import Report, percent, without_formulas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOP = 5


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's prediction of a token from the tokens before it."""

    model: str
    symbol: str  # of the model's vocabulary, which stands for the token
    perplexity: float  # 1 / P(symbol)
    top: tuple[tuple[str, float], ...]  # the most probable symbols and their log P, in nats
    attention: dict[int, float] | None
    """The attention to each position in view: -1 is the ``<eos>`` at the start, 0 the first token.

    The attention is to the model's output after that token; in RM, to the token itself.
    """

    def attention_to(self, position: int) -> float | None:
        """Return the attention to a position; None for a position out of view."""
        return (self.attention or {}).get(position)

    def to_json(self) -> dict[str, Any]:
        attention = self.attention
        return {
            "model": self.model,
            "symbol": self.symbol,
            "perplexity": self.perplexity,
            "top": [{"symbol": symbol, "log_prob": value} for symbol, value in self.top],
            "attention": None
            if attention is None
            else [{"token": p, "weight": w} for p, w in attention.items()],
        }


def predict(checkpoint: Checkpoint, tree: LinearTree, token: int, name: str) -> Prediction:
    """Predict the tree's token number ``token``, from 0, in the order the model reads them; the
    number after the last is that of ``<eos>``.

    Raises InputError if the tree has no such token.
    """
    all_tokens = (*tree.as_read(checkpoint).tokens, EOS)
    if not 0 <= token < len(all_tokens):
        raise InputError(
            f"the tree has no token {token + 1}; its tokens are "
            + " ".join(f"{number}:{each}" for number, each in enumerate(all_tokens, 1))
        )
    window = window_of(checkpoint)
    (batch,) = read_in_batches(checkpoint, [tree])
    here = torch.zeros_like(batch.is_token)
    here[token] = True
    log_probabilities = checkpoint.model.log_probabilities(batch.features.at(here))[0]
    attention = None
    if window is not None:
        # At time step t the token just read, 0 steps back, is number t - 1.
        positions = [token - 1 - step for step in window.steps_back]
        weights = batch.attention[token, 0].tolist()
        attention = {p: weight for p, weight in zip(positions, weights, strict=True) if p >= -1}
    target = int(batch.targets[token, 0])
    symbols = checkpoint.vocabulary.symbols
    values, numbers = torch.topk(log_probabilities, min(_TOP, len(symbols)))
    top_symbols = (symbols[number] for number in numbers.tolist())
    return Prediction(
        name,
        symbols[target],
        perplexity(-float(log_probabilities[target]), 1),
        tuple(zip(top_symbols, values.tolist(), strict=True)),
        attention,
    )


def example_report(tokens: Sequence[str], token: int, models: Sequence[Prediction]) -> Report:
    """Report the tokens read before a prediction, the attention to each, the perplexity of the
    token that follows, and the five most probable symbols with their log-probabilities in nats."""
    spelled = (*tokens, EOS)  # number -1, at the start, is <eos>, too
    rows = [("", *(model.model for model in models))]
    for position in _shown(token, models):
        cells = (percent(model.attention_to(position)) for model in models)
        rows.append((spelled[position], *cells))
    rows.append((f"-> {spelled[token]}", *(model.symbol for model in models)))
    rows.append(("perplexity", *(f"{model.perplexity:.2f}" for model in models)))
    for rank in range(max(len(model.top) for model in models)):
        tops = (model.top[rank : rank + 1] for model in models)  # empty for a tiny vocabulary
        cells = ("".join(f"{symbol} {log_p:.2f}" for symbol, log_p in top) for top in tops)
        rows.append((f"{rank + 1}.", *cells))
    data = {"tokens": tokens, "predicted": token, "models": [each.to_json() for each in models]}
    return Report([rows], data, partial(_draw, spelled, token, models))


def _draw(spelled: Sequence[str], token: int, models: Sequence[Prediction], figure: Figure) -> None:
    """Draw a row for each model, a column for each token in view, shaded by attention; grey where a
    model does not look."""
    shown = _shown(token, models)
    figure.set_size_inches(3 + 0.7 * len(shown), 2 + 0.9 * len(models))
    weights = [[model.attention_to(position) for position in shown] for model in models]
    shares = [[math.nan if share is None else share for share in row] for row in weights]
    greatest = max((w for row in weights for w in row if w is not None), default=1.0)
    axes = figure.subplots()
    axes.set_facecolor("lightgrey")
    image = axes.imshow(shares, cmap="Blues", aspect="auto", vmin=0, vmax=greatest)
    tokens = [without_formulas(spelled[position]) for position in shown]
    axes.set_xticks(range(len(shown)), tokens, rotation=60, ha="right")
    rows = [
        f"{model.model}\nperplexity {model.perplexity:.1f}\n"
        + " ".join(symbol for symbol, _ in model.top)
        for model in models
    ]
    axes.set_yticks(range(len(models)), [*map(without_formulas, rows)], fontsize=8)
    title = f"Predicting {spelled[token]}: attention and most probable symbols"
    axes.set(title=without_formulas(title), xlabel="tokens read")
    figure.colorbar(image, label="attention (share)")


def _shown(token: int, models: Sequence[Prediction]) -> Sequence[int]:
    """Return the positions that at least one model has in view; the last few if none attends."""
    seen = [position for model in models for position in model.attention or ()]
    return range(min(seen, default=max(-1, token - _TOP)), token)
