"""Perplexity of running text, of several models and of the average of their probabilities: what
language modelling papers print (Takase et al. 2018, Tables 3 and 6 to 8; Daniluk 2016, Tables 4.2
to 4.11)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reranker.analysis.classes import ALL, Total
from reranker.analysis.report import grouped_bars
from reranker.analysis.running import RunningText
from reranker.files.table import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AVERAGE = "average"
Values = list[NDArray[np.float64]]  # of each text, log P of its tokens, [N]


def averaged(members: Sequence[Values]) -> Values:
    """The log of the members' mean probability, token by token."""
    return [
        np.logaddexp.reduce(np.stack(values), axis=0) - np.log(len(members))
        for values in zip(*members, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class TextPerplexities:
    """Perplexity per token, ``<eos>`` of every line included, of each text and, if there are
    several, of all. The last row is the ``average`` of all models, if their vocabularies are the
    same."""

    models: dict[str, dict[str, Total]]

    @classmethod
    def from_values(
        cls, texts: Sequence[RunningText], models: dict[str, Values], average: Values | None
    ) -> TextPerplexities:
        rows = {**models, **({} if average is None else {AVERAGE: average})}
        names = [text.name for text in texts]
        return cls({name: _totals(names, values) for name, values in rows.items()})

    def text(self) -> str:
        first = next(iter(self.models.values()))
        rows = [("model", *first), ("tokens", *(str(total.tokens) for total in first.values()))]
        for name, totals in self.models.items():
            rows.append((name, *(f"{total.perplexity:.2f}" for total in totals.values())))
        return aligned(rows)

    def to_json(self) -> Any:
        return [
            {"model": model, "texts": {name: total.to_json() for name, total in totals.items()}}
            for model, totals in self.models.items()
        ]

    def draw(self, figure: Figure) -> None:
        """A group of bars for each text, a bar for each model."""
        axes = figure.subplots()
        heights = {
            model: [total.perplexity for total in totals.values()]
            for model, totals in self.models.items()
        }
        grouped_bars(axes, list(next(iter(self.models.values()))), heights)
        axes.set(title="Perplexity of running text", ylabel="perplexity per token")


def token_score_lines(texts: Sequence[RunningText], values: Values) -> Iterator[str]:
    """A line of JSON for each line of the texts: its tokens that are predicted, and log P."""
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
