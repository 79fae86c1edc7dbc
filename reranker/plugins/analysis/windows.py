"""Tables 4.3, 4.6 and 4.9 of Daniluk 2016, perplexity by attention window, and 4.4, 4.7 and 4.10,
by N of RNN-N."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError
from reranker.perplexity import perplexity
from reranker.plugins.analysis.readings import LinearTree, Tick, ignore, token_log_probabilities
from reranker.plugins.analysis.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class WindowPoint(NamedTuple):
    """A checkpoint's perplexity on the trees and the window it was trained with."""

    model: str
    architecture: str
    window: int
    perplexity: float


def point(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], name: str, tick: Tick = ignore
) -> WindowPoint:
    """Return a checkpoint's point. Raises InputError for a model without a window."""
    config = checkpoint.model.config
    window = getattr(config, "window", getattr(config, "order", None))  # L of attention, N of RNN-N
    if not isinstance(window, int):
        raise InputError(f"{name}: {checkpoint.model.architecture} has no window")
    total, tokens = 0.0, 0
    for _, values in token_log_probabilities(checkpoint, trees, tick):
        total -= sum(values)
        tokens += len(values)
    return WindowPoint(name, checkpoint.model.architecture, window, perplexity(total, tokens))


def window_report(points: Sequence[WindowPoint]) -> Report:
    """Report perplexity per token, one row per architecture and one column per window. Several
    checkpoints in one cell (seeds) give their mean and standard deviation."""
    windows = sorted({point.window for point in points})
    rows = [("architecture", *map(str, windows))]
    for architecture, cells in _cells(points).items():
        rows.append((architecture, *(_cell(cells.get(window, [])) for window in windows)))
    return Report([rows], [point._asdict() for point in points], partial(_draw, points))


def _draw(points: Sequence[WindowPoint], figure: Figure) -> None:
    """Draw a line for each architecture, with the spread of its seeds."""
    axes = figure.subplots()
    for architecture, cells in _cells(points).items():
        means = [statistics.mean(cell) for cell in cells.values()]
        spreads = [statistics.stdev(cell) if len(cell) > 1 else 0.0 for cell in cells.values()]
        axes.errorbar(list(cells), means, spreads, marker=".", capsize=3, label=architecture)
    axes.set(
        title="Perplexity by window",
        xlabel="window (tokens)",
        ylabel="perplexity per token",
        xticks=sorted({point.window for point in points}),
    )
    axes.grid(alpha=0.3)
    axes.legend()


def _cells(points: Sequence[WindowPoint]) -> dict[str, dict[int, list[float]]]:
    """Return perplexities by architecture and window, windows in order."""
    cells: dict[str, dict[int, list[float]]] = {point.architecture: {} for point in points}
    for point in sorted(points, key=lambda point: point.window):
        cells[point.architecture].setdefault(point.window, []).append(point.perplexity)
    return cells


def _cell(perplexities: Sequence[float]) -> str:
    if not perplexities:
        return ""
    mean = f"{statistics.mean(perplexities):.2f}"
    return f"{mean} ± {statistics.stdev(perplexities):.2f}" if len(perplexities) > 1 else mean
