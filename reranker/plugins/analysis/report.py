"""What an analysis returns, and what tables and figures have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Analysis(Protocol):
    """An analysis of one or more models."""

    def text(self) -> str:
        """Its table."""

    def to_json(self) -> Any:
        """The table's figures and more, unrounded, as plain data."""

    def draw(self, figure: Figure) -> None:
        """Fill an empty figure."""


def names(paths: Iterable[Path]) -> list[str]:
    """File names, or whole paths if two names are the same."""
    paths = list(paths)
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def percent(share: float | None) -> str:
    """A table's cell; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def panels(figure: Figure, count: int, height: float) -> list[Axes]:
    """``count`` axes one below the other, each ``height`` inches high."""
    figure.set_size_inches(8, 1.5 + height * count)
    return list(figure.subplots(count, squeeze=False)[:, 0])


def grouped_bars(axes: Axes, groups: Sequence[str], models: Mapping[str, Sequence[float]]) -> None:
    """A group of bars for each of ``groups``, a bar for each model, whose heights are in their
    order."""
    width = 0.8 / len(models)
    for number, (model, heights) in enumerate(models.items()):
        places = [place + number * width for place in range(len(groups))]
        axes.bar(places, heights, width=width, align="edge", label=model)
    axes.set_xticks([place + 0.4 for place in range(len(groups))], groups)
    axes.grid(alpha=0.3, axis="y")
    axes.legend()


def legend_beside(axes: Axes) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def without_formulas(text: str) -> str:
    """For a figure, where dollar signs would start a formula."""
    return text.replace("$", r"\$")
