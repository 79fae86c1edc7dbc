"""How F1 follows perplexity in the F1 tables that were made, and what perplexity a gain would need:

    python eval/tables/curve.py runs/tables-open/open-table-11.json --gain 4.5 --plot curve.png

A point is a row of a table on one of its sets: an ensemble, or the mean of a model's seeds. Through
those of one vocabulary a line is drawn, gain over the parser's F1 = a - b ln(perplexity), by least
squares.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reranker.errors import InputError, RerankError
from reranker.files.figure import new_figure, save_figure
from reranker.files.markdown import grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {"alone": "language models alone", "mixed": "mixed with the parser"}
FEWEST = 3  # perplexities that a line is drawn through
TICKS = [digit * 10**power for power in range(5) for digit in (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8)]


class Point(NamedTuple):
    """A row's gain over the parser on one set, in F1 points, by one kind of choice."""

    row: str
    set: str
    vocabulary: str
    kind: str
    perplexity: float
    gain: float

    @property
    def group(self) -> tuple[str, str, str]:
        """What a line is drawn for."""
        return self.set, self.vocabulary, self.kind


@dataclass(frozen=True, slots=True)
class Line:
    """gain = ``at_one`` - ``per_nat`` ln(perplexity), and how far points lie from it."""

    at_one: float
    per_nat: float
    deviation: float

    @classmethod
    def through(cls, perplexities: Sequence[float], gains: Sequence[float]) -> Line:
        nats, values = np.log(perplexities), np.array(gains)
        slope, at_one = np.polyfit(nats, values, 1).tolist()
        residuals = values - (at_one + slope * nats)
        squares = float((residuals**2).sum())
        return cls(at_one, -slope, (squares / max(1, len(values) - 2)) ** 0.5)

    def gains(self, perplexities: Sequence[float]) -> list[float]:
        return [self.at_one - self.per_nat * math.log(value) for value in perplexities]

    def perplexity_for(self, gain: float) -> float | None:
        """Where the line reaches the gain; None if it does not fall, or reaches it below 1."""
        if self.per_nat <= 0 or gain > self.at_one:
            return None
        return float(np.exp((self.at_one - gain) / self.per_nat))


Lines = dict[tuple[str, str, str], Line]  # by group


def read_points(paths: Sequence[Path]) -> list[Point]:
    """The rows of F1 tables. Raises InputError for another file, and if no row has both figures."""
    points = []
    for path in paths:
        try:
            points += _points(json.loads(path.read_text("utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not the JSON of an F1 table: {error!r}") from error
    if not points:
        raise InputError("no row with a perplexity and F1")
    return points


def lines(points: Sequence[Point]) -> Lines:
    """Through the points of each group that has enough."""
    fitted = {}
    for group in sorted({point.group for point in points}):
        pairs = [(point.perplexity, point.gain) for point in points if point.group == group]
        if len({perplexity for perplexity, _ in pairs}) >= FEWEST:
            fitted[group] = Line.through(*zip(*pairs, strict=True))
    return fitted


def report(points: Sequence[Point], fitted: Lines, gain: float) -> str:
    """A Markdown table of the lines."""
    heads = ["set", "vocabulary", "choice", "points", "least perplexity", "best gain", "F1 a nat"]
    rows = []
    for (name, vocabulary, kind), line in fitted.items():
        here = [point for point in points if point.group == (name, vocabulary, kind)]
        least, best = min(each.perplexity for each in here), max(each.gain for each in here)
        needed = line.perplexity_for(gain)
        cells = [name, vocabulary[:8], kind, str(len(here)), f"{least:.2f}", f"{best:+.2f}"]
        cells += [f"{line.per_nat:.1f}", f"{line.deviation:.2f}"]
        rows.append([*cells, "-" if needed is None else f"{needed:.2f}"])
    return grid([*heads, "±", f"for +{gain:g}"], rows) + "\n"


def draw(points: Sequence[Point], fitted: Lines, gain: float, path: Path) -> None:
    """A panel for each set: points, their lines, dashed beyond the points, and the gain."""
    names = list(dict.fromkeys(point.set for point in points))
    figure = new_figure(path)
    figure.set_size_inches(6 * len(names), 5)
    figure.suptitle("F1 gained over the parser, by the language models' perplexity")
    panels = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for name, axes in zip(names, panels, strict=True):
        axes.axhline(0, color="gray", linewidth=1)
        axes.axhline(gain, color="gray", linestyle=":", linewidth=1)
        axes.text(
            0.99,
            gain,
            f"+{gain:g}\n",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
        )
        _draw_panel(axes, name, points, fitted, gain)
        axes.set(xscale="log", title=name, xlabel="perplexity per token, log scale")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    low, high = panels[0].get_xlim()
    panels[0].set_xticks([tick for tick in TICKS if low <= tick <= high])
    panels[0].xaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("gain over the parser's first tree, F1 points")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    save_figure(figure, path)


def _draw_panel(axes: Axes, name: str, points: Sequence[Point], fitted: Lines, gain: float) -> None:
    """The points of one set. Colours are kinds of choice, markers vocabularies, which the legend
    calls by their model, if there is only one."""
    is_first = name == points[0].set
    for number, vocabulary in enumerate(dict.fromkeys(point.vocabulary for point in points)):
        rows = list(dict.fromkeys(each.row for each in points if each.vocabulary == vocabulary))
        label = rows[0] if len(rows) == 1 else f"{len(rows)} models of one vocabulary"
        for color, (kind, text) in zip(("C0", "C1"), KINDS.items(), strict=True):
            here = [point for point in points if point.group == (name, vocabulary, kind)]
            axes.scatter(
                [point.perplexity for point in here],
                [point.gain for point in here],
                marker="os^Dv"[number % 5],
                color=color,
                facecolors="none" if number else None,
                label=f"{label}, {text}" if is_first else None,
            )
            if line := fitted.get((name, vocabulary, kind)):
                ends = [pick(point.perplexity for point in here) for pick in (min, max)]
                axes.plot(ends, line.gains(ends), color=color, linewidth=1)
                needed = line.perplexity_for(gain)
                if needed and needed < ends[0]:
                    ends = [needed, ends[0]]
                    axes.plot(ends, line.gains(ends), "--", color=color, linewidth=1)


def _points(table: dict[str, Any]) -> list[Point]:
    points = []
    for row in table["rows"]:
        for name, figures in {} if "failed" in row else row["sets"].items():
            if None in figures["perplexity"]:
                continue
            label, base = table["sets"][name]["name"], table["sets"][name]["parser"]
            vocabulary = table["vocabularies"][row["vocabularies"][0]]
            perplexity = mean(figures["perplexity"])
            for kind in KINDS:
                gains = [each["f1"] - base for each in figures[kind]]
                if gains:
                    gain = mean(gains)
                    points.append(Point(row["name"], label, vocabulary, kind, perplexity, gain))
    return points


def main(argv: Sequence[str] | None = None) -> int:
    """Print and draw; returns 0, or 2 for files that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="curve.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("tables", type=Path, nargs="+", metavar="TABLE.json")
    add("--gain", type=float, default=4.5, metavar="F1", help="default: 4.5")
    text = "without the points above (default: all points)"
    add("--below", type=float, default=float("inf"), metavar="PERPLEXITY", help=text)
    add("--plot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args(argv)
    try:
        points = [
            point for point in read_points(arguments.tables) if point.perplexity < arguments.below
        ]
        fitted = lines(points)
        if not fitted:
            print(f"curve: a line needs {FEWEST} perplexities or more", file=sys.stderr)
        print(report(points, fitted, arguments.gain), end="")
        if arguments.plot:
            draw(points, fitted, arguments.gain, arguments.plot)
    except RerankError as error:
        print(f"curve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
