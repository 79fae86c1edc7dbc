"""Figures 4.3 to 4.5 of Daniluk 2016: one prediction as several models make it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from reranker.analysis.attention import plain, reach_of
from reranker.analysis.readings import LinearTree, at, perplexity, readings
from reranker.analysis.report import aligned
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOP = 5


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of a token after those before it."""

    model: str
    symbol: str  # what the token is to the model
    perplexity: float  # 1 / P(symbol)
    top: tuple[tuple[str, float], ...]  # the most probable symbols and their log P
    attention: dict[int, float] | None
    """The attention to each position in view: -1 is the ``<eos>`` at the start, 0 the first token.

    To the output after that token, not to the token, except in RM.
    """


def predict(checkpoint: Checkpoint, tree: LinearTree, token: int, name: str) -> Prediction:
    """Of ``token``, from 0, of the tree's in the order the model reads them; the number after the
    last is ``<eos>``'s.

    Raises InputError for a number that is none of its tokens'.
    """
    all_tokens = (*tree.as_read(checkpoint).tokens, EOS)
    if not 0 <= token < len(all_tokens):
        raise InputError(
            f"the tree has no token {token + 1}; they are "
            + " ".join(f"{number}:{each}" for number, each in enumerate(all_tokens, 1))
        )
    reach = reach_of(checkpoint)
    (reading,) = readings(checkpoint, [tree])
    here = torch.zeros_like(reading.wanted)
    here[token] = True
    log_probabilities = checkpoint.model.log_probabilities(at(reading.features, here))[0]
    attention = None
    if reach is not None:
        assert reading.features.attention is not None
        weights = reading.features.attention[token, 0].tolist()
        # At time step t the token just read, 0 steps back, is number t - 1.
        places = [token - 1 - step for step in reach.steps_back]
        attention = {p: w for p, w in zip(places, weights, strict=True) if p >= -1}
    target = int(reading.targets[token, 0])
    symbols = checkpoint.vocabulary.symbols
    best = torch.topk(log_probabilities, min(_TOP, len(symbols)))
    return Prediction(
        name,
        symbols[target],
        perplexity(-float(log_probabilities[target]), 1),
        tuple(
            (symbols[number], value)
            for number, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ),
        attention,
    )


@dataclass(frozen=True, slots=True)
class Example:
    """The tokens read before a prediction, how much each is attended to, the perplexity of the
    token that follows, and the five most probable with their log-probabilities in nats."""

    tokens: tuple[str, ...]
    token: int
    predictions: tuple[Prediction, ...]

    def text(self) -> str:
        models = self.predictions
        shown = self._shown()
        rows = [("", *(one.model for one in models))]
        for place in shown:
            found = ((one.attention or {}).get(place) for one in models)
            cells = ("" if weight is None else f"{100 * weight:.1f} %" for weight in found)
            rows.append((self._token(place), *cells))
        rows.append((f"-> {self._token(self.token)}", *(one.symbol for one in models)))
        rows.append(("perplexity", *(f"{one.perplexity:.2f}" for one in models)))
        for number in range(max(len(one.top) for one in models)):
            cells = (
                f"{one.top[number][0]} {one.top[number][1]:.2f}" if number < len(one.top) else ""
                for one in models
            )
            rows.append((f"{number + 1}.", *cells))
        return aligned(rows)

    def to_json(self) -> Any:
        return {
            "tokens": self.tokens,
            "predicted": self.token,
            "models": [
                {
                    "model": one.model,
                    "symbol": one.symbol,
                    "perplexity": one.perplexity,
                    "top": [{"symbol": symbol, "log_prob": value} for symbol, value in one.top],
                    "attention": None
                    if one.attention is None
                    else [{"token": p, "weight": w} for p, w in one.attention.items()],
                }
                for one in self.predictions
            ],
        }

    def draw(self, figure: Figure) -> None:
        """A row for each model, a column for each token in view, shaded by attention; grey where a
        model does not look."""
        shown = self._shown()
        figure.set_size_inches(3 + 0.7 * len(shown), 1.5 + 0.9 * len(self.predictions))
        axes = figure.subplots()
        shares = [
            [(one.attention or {}).get(place, math.nan) for place in shown]
            for one in self.predictions
        ]
        every_weight = (w for one in self.predictions for w in (one.attention or {}).values())
        greatest = max(every_weight, default=1.0)
        axes.set_facecolor("lightgrey")
        image = axes.imshow(shares, cmap="Blues", aspect="auto", vmin=0, vmax=greatest)
        axes.set_xticks(
            range(len(shown)),
            [plain(self._token(place)) for place in shown],
            rotation=60,
            ha="right",
        )
        axes.set_yticks(
            range(len(self.predictions)),
            [
                plain(
                    f"{one.model}\nperplexity {one.perplexity:.1f}\n"
                    + " ".join(s for s, _ in one.top)
                )
                for one in self.predictions
            ],
            fontsize=8,
        )
        axes.set_title(plain(f"before {self._token(self.token)}"))
        figure.colorbar(image, label="attention")

    def _shown(self) -> Sequence[int]:
        """The positions that some model has in view; the last few if none attends."""
        seen = [place for one in self.predictions for place in one.attention or ()]
        return range(min(seen, default=max(-1, self.token - _TOP)), self.token)

    def _token(self, place: int) -> str:
        """<eos> stands at the start, too."""
        return (*self.tokens, EOS)[place]
