"""The report of an analysis, and functions that tables and figures share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.files.table import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of an analysis: tables to print, the same figures as JSON, and a picture."""

    tables: Sequence[Sequence[Sequence[str]]]  # each a list of rows, the heads first
    data: Any  # the figures and more, unrounded, as plain data
    draw: Callable[[Figure], None]  # fills an empty figure
    left: int = 1  # columns that are aligned on the left: names
    is_partial: bool = False  # some input was left out

    def text(self) -> str:
        """Return the tables as text."""
        return "\n\n".join(aligned(rows, left=self.left) for rows in self.tables)

    def json(self) -> str:
        """Return the figures as JSON, with null for infinity, which JSON lacks."""
        return json.dumps(_finite(self.data), indent=2, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def names(paths: Iterable[Path]) -> list[str]:
    """Return file names, or whole paths if two names are the same."""
    paths = list(paths)
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def percent(share: float | None) -> str:
    """Return a table's cell, empty for None."""
    return "" if share is None else f"{100 * share:.1f}%"


def panels(figure: Figure, count: int, height: float) -> list[Axes]:
    """Return ``count`` axes one below the other, each ``height`` inches high."""
    figure.set_size_inches(8, 1.5 + height * count)
    return list(figure.subplots(count, squeeze=False)[:, 0])


def grouped_bars(axes: Axes, groups: Sequence[str], models: Mapping[str, Sequence[float]]) -> None:
    """Draw a group of bars for each of ``groups``, with a bar for each model; a model's heights
    are in the order of the groups."""
    width = 0.8 / len(models)
    for number, (model, heights) in enumerate(models.items()):
        places = [place + number * width for place in range(len(groups))]
        axes.bar(places, heights, width=width, align="edge", label=model)
    axes.set_xticks([place + 0.4 for place in range(len(groups))], groups)
    axes.grid(alpha=0.3, axis="y")
    axes.legend()


def legend_beside(axes: Axes) -> None:
    """Draw a legend to the right of the axes, where the legend hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def without_formulas(text: str) -> str:
    """Escape dollar signs, which would start a formula in a figure."""
    return text.replace("$", r"\$")
