"""Tables 4.3, 4.6 and 4.9 of Daniluk 2016, perplexity by attention window, and 4.4, 4.7 and 4.10,
by N of RNN-N."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reranker.analysis.readings import LinearTree, Tick, perplexity, token_log_probabilities
from reranker.analysis.report import aligned
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint's perplexity on the trees and the window it was trained with."""

    model: str
    architecture: str
    window: int
    perplexity: float


def window_of(checkpoint: Checkpoint, name: str) -> int:
    """L of a model with attention, N of RNN-N; raises InputError for other models."""
    config = checkpoint.model.config
    found = getattr(config, "window", getattr(config, "order", None))
    if not isinstance(found, int):
        raise InputError(f"{name}: {checkpoint.model.architecture} looks back through no window")
    return found


def point(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], name: str, tick: Tick = lambda tokens: None
) -> Point:
    """Raises InputError for a model without a window."""
    window = window_of(checkpoint, name)
    total, tokens = 0.0, 0
    for _, values in token_log_probabilities(checkpoint, trees, tick):
        total -= sum(values)
        tokens += len(values)
    return Point(name, checkpoint.model.architecture, window, perplexity(total, tokens))


@dataclass(frozen=True, slots=True)
class Windows:
    """Perplexity per token, an architecture a row and a window a column. Of several checkpoints in
    one place (seeds) the mean, with their standard deviation."""

    points: tuple[Point, ...]

    def text(self) -> str:
        windows = sorted({one.window for one in self.points})
        rows = [("architecture", *map(str, windows))]
        for architecture in self._architectures():
            cells = (_cell(self._at(architecture, window)) for window in windows)
            rows.append((architecture, *cells))
        return aligned(rows)

    def to_json(self) -> Any:
        return [
            {
                "model": one.model,
                "architecture": one.architecture,
                "window": one.window,
                "perplexity": one.perplexity,
            }
            for one in self.points
        ]

    def draw(self, figure: Figure) -> None:
        """A line for each architecture, with the spread of its seeds."""
        axes = figure.subplots()
        for architecture in self._architectures():
            windows = sorted(
                {one.window for one in self.points if one.architecture == architecture}
            )
            found = [self._at(architecture, window) for window in windows]
            means = [statistics.mean(each) for each in found]
            spreads = [statistics.stdev(each) if len(each) > 1 else 0.0 for each in found]
            axes.errorbar(windows, means, spreads, marker=".", capsize=3, label=architecture)
        axes.set(
            xlabel="window",
            ylabel="perplexity per token",
            xticks=sorted({one.window for one in self.points}),
        )
        axes.grid(alpha=0.3)
        axes.legend()

    def _architectures(self) -> list[str]:
        return list(dict.fromkeys(one.architecture for one in self.points))

    def _at(self, architecture: str, window: int) -> list[float]:
        place = (architecture, window)
        return [one.perplexity for one in self.points if (one.architecture, one.window) == place]


def _cell(perplexities: Sequence[float]) -> str:
    if not perplexities:
        return ""
    mean = f"{statistics.mean(perplexities):.2f}"
    return f"{mean} ± {statistics.stdev(perplexities):.2f}" if len(perplexities) > 1 else mean
