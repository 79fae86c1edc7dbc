"""How F1 follows perplexity in the F1 tables that were made, and what perplexity a gain would need:

    python eval/tables/curve.py runs/tables-open/open-table-11.json --gain 4.5 --plot curve.png

A point is a row of a table on one of its sets: the mean of its seeds. Through those of one
vocabulary a line is drawn, gain over the parser's F1 = a - b ln(perplexity), by least squares.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from reranker.analysis_report import new_figure, save_figure
from reranker.errors import InputError, RerankError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("alone", "mixed")
_FEWEST = 3  # points that a line is drawn through


@dataclass(frozen=True, slots=True)
class Point:
    """What a row gains over the parser on one set, in F1."""

    row: str
    set: str
    vocabulary: str
    perplexity: float
    alone: float
    mixed: float | None


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
        left = values - (at_one + slope * nats)
        return cls(at_one, -slope, float(np.sqrt((left**2).sum() / max(1, len(values) - 2))))

    def perplexity_for(self, gain: float) -> float:
        """Where the line reaches the gain; infinity if it does not fall."""
        if self.per_nat <= 0:
            return float("inf")
        return float(np.exp((self.at_one - gain) / self.per_nat))


def read_points(paths: Sequence[Path]) -> list[Point]:
    """The rows of F1 tables. Raises InputError for a file that is none."""
    points = []
    for path in paths:
        try:
            table = json.loads(path.read_text("utf-8"))
            for row in table["rows"]:
                for name, one in {} if "failed" in row else row["sets"].items():
                    if None in one["perplexity"]:
                        continue
                    first = table["sets"][name]["parser"]
                    gains = [[each["f1"] - first for each in one[kind]] for kind in KINDS]
                    points.append(
                        Point(
                            row["name"],
                            table["sets"][name]["name"],
                            table["vocabularies"][row["vocabularies"][0]],
                            mean(one["perplexity"]),
                            mean(gains[0]),
                            mean(gains[1]) if gains[1] else None,
                        )
                    )
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not the JSON of an F1 table: {error!r}") from error
    return points


def lines(points: Sequence[Point], below: float) -> dict[tuple[str, str, str], Line]:
    """By set, vocabulary and ``alone`` or ``mixed``; of the points ``below`` a perplexity."""
    gains: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for point in points:
        for kind in KINDS:
            gain = getattr(point, kind)
            if gain is not None and point.perplexity < below:
                key = point.set, point.vocabulary, kind
                gains.setdefault(key, []).append((point.perplexity, gain))
    return {
        key: Line.through(*zip(*pairs, strict=True))
        for key, pairs in sorted(gains.items())
        if len({perplexity for perplexity, _ in pairs}) >= _FEWEST
    }


def report(points: Sequence[Point], found: dict[tuple[str, str, str], Line], gain: float) -> str:
    """A Markdown table of the lines."""
    heads = ["set", "vocabulary", "choice", "least perplexity", "best gain", "F1 a nat", "±"]
    rows = [f"| {' | '.join(heads)} | for +{gain:g} |", "|---" * 8 + "|"]
    for (name, vocabulary, kind), line in found.items():
        mine = [one for one in points if (one.set, one.vocabulary) == (name, vocabulary)]
        best = max(value for one in mine if (value := getattr(one, kind)) is not None)
        cells = [name, vocabulary[:8], kind, f"{min(one.perplexity for one in mine):.2f}"]
        cells += [f"{best:+.2f}", f"{line.per_nat:.1f}", f"{line.deviation:.2f}"]
        rows.append(f"| {' | '.join(cells)} | {line.perplexity_for(gain):.2f} |")
    return "\n".join(rows) + "\n"


def draw(
    points: Sequence[Point], found: dict[tuple[str, str, str], Line], gain: float, path: Path
) -> None:
    """A panel for each set: points, their lines and the gain that is asked for."""
    names = list(dict.fromkeys(point.set for point in points))
    figure = new_figure(path)
    figure.set_size_inches(6 * len(names), 4.5)
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    for name, axes in zip(names, panels, strict=True):
        _panel(axes, [one for one in points if one.set == name], found, gain)
        axes.set_title(name)
    panels[0].set_ylabel("F1 over the parser's")
    panels[0].legend(fontsize="small")
    save_figure(figure, path)


def _panel(
    axes: Axes, points: Sequence[Point], found: dict[tuple[str, str, str], Line], gain: float
) -> None:
    vocabularies = list(dict.fromkeys(point.vocabulary for point in points))
    for number, vocabulary in enumerate(vocabularies):
        for kind, marker in zip(KINDS, "ox", strict=True):
            mine = [
                (point.perplexity, value)
                for point in points
                if point.vocabulary == vocabulary and (value := getattr(point, kind)) is not None
            ]
            if not mine:
                continue
            label = kind if len(vocabularies) == 1 else f"{kind}, vocabulary {vocabulary[:8]}"
            color = f"C{2 * number + KINDS.index(kind)}"
            axes.scatter(*zip(*mine, strict=True), marker=marker, color=color, label=label)
            line = found.get((points[0].set, vocabulary, kind))
            if line is not None:
                ends = [line.perplexity_for(gain), max(one for one, _ in mine)]
                ends = [end for end in ends if 1 <= end < float("inf")]
                heights = [line.at_one - line.per_nat * np.log(end) for end in ends]
                axes.plot(ends, heights, color=color, linewidth=1)
    axes.axhline(gain, color="gray", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("perplexity per token")
    axes.grid(alpha=0.3)


def main(argv: Sequence[str] | None = None) -> int:
    """Print and draw; returns 0, or 2 for files that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="curve.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE.json")
    parser.add_argument("--gain", type=float, default=4.5, metavar="F1", help="default: 4.5")
    parser.add_argument(
        "--below", type=float, default=float("inf"), metavar="PERPLEXITY", help="for the lines"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args(argv)
    try:
        points = read_points(arguments.tables)
        found = lines(points, arguments.below)
        print(report(points, found, arguments.gain), end="")
        if arguments.plot:
            draw(points, found, arguments.gain, arguments.plot)
    except RerankError as error:
        print(f"curve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
