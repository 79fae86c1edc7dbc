"""How F1 follows perplexity in the F1 tables that were made, and what perplexity a gain would need:

    python eval/tables/curve.py runs/tables-open/open-table-11.json --gain 4.5 --plot curve.png

A point is a row of a table on one of its sets: an ensemble, or the mean of a model's seeds. Through
those of one vocabulary a line is drawn, gain over the parser's F1 = a - b ln(perplexity), by least
squares.
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

from reranker.errors import InputError, RerankError
from reranker.files.figure import new_figure, save_figure

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

    def perplexity_for(self, gain: float) -> float | None:
        """Where the line reaches the gain; None if it does not fall, or reaches it below 1."""
        if self.per_nat <= 0 or gain > self.at_one:
            return None
        return float(np.exp((self.at_one - gain) / self.per_nat))


def read_points(paths: Sequence[Path]) -> list[Point]:
    """The rows of F1 tables. Raises InputError for a file that is none, and if no row has both
    figures."""
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
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not the JSON of an F1 table: {error!r}") from error
    if not points:
        raise InputError("no row with a perplexity and F1")
    return points


def lines(points: Sequence[Point]) -> dict[tuple[str, str, str], Line]:
    """By set, vocabulary and ``alone`` or ``mixed``, where there are points enough for one."""
    found = {}
    for name, vocabulary in sorted({(point.set, point.vocabulary) for point in points}):
        for kind in KINDS:
            pairs = _gains(points, name, vocabulary, kind)
            if len({perplexity for perplexity, _ in pairs}) >= _FEWEST:
                found[name, vocabulary, kind] = Line.through(*zip(*pairs, strict=True))
    return found


def report(points: Sequence[Point], found: dict[tuple[str, str, str], Line], gain: float) -> str:
    """A Markdown table of the lines."""
    heads = ["set", "vocabulary", "choice", "points", "least perplexity", "best gain", "F1 a nat"]
    rows = [f"| {' | '.join(heads)} | ± | for +{gain:g} |", "|---" * 9 + "|"]
    for (name, vocabulary, kind), line in found.items():
        pairs = _gains(points, name, vocabulary, kind)
        needed = line.perplexity_for(gain)
        cells = [name, vocabulary[:8], kind, str(len(pairs)), f"{min(pairs)[0]:.2f}"]
        cells += [f"{max(best for _, best in pairs):+.2f}", f"{line.per_nat:.1f}"]
        cells += [f"{line.deviation:.2f}", "-" if needed is None else f"{needed:.2f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def draw(
    points: Sequence[Point], found: dict[tuple[str, str, str], Line], gain: float, path: Path
) -> None:
    """A panel for each set: points, their lines and the gain that is asked for."""
    names = list(dict.fromkeys(point.set for point in points))
    vocabularies = list(dict.fromkeys(point.vocabulary for point in points))
    figure = new_figure(path)
    figure.set_size_inches(6 * len(names), 4.5)
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    for name, axes in zip(names, panels, strict=True):
        for number, vocabulary in enumerate(vocabularies):
            for kind in KINDS:
                pairs = _gains(points, name, vocabulary, kind)
                if not pairs:
                    continue
                color = f"C{2 * number + KINDS.index(kind)}"
                label = kind if len(vocabularies) == 1 else f"{kind}, vocabulary {vocabulary[:8]}"
                marker = "o" if kind == "alone" else "x"
                axes.scatter(*zip(*pairs, strict=True), marker=marker, color=color, label=label)
                if line := found.get((name, vocabulary, kind)):
                    _draw_line(axes, line, [perplexity for perplexity, _ in pairs], gain, color)
        axes.axhline(gain, color="gray", linestyle=":", linewidth=1)
        axes.set(xscale="log", xlabel="perplexity per token", title=name)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    panels[0].set_ylabel("F1 over the parser's")
    save_figure(figure, path)


def _draw_line(
    axes: Axes, line: Line, perplexities: Sequence[float], gain: float, color: str
) -> None:
    """Along its points, and on to the gain if it gets there."""
    needed = line.perplexity_for(gain)
    ends = [min(perplexities), max(perplexities)]
    ends[0] = min(ends[0], needed or ends[0])
    axes.plot(
        ends, [line.at_one - line.per_nat * np.log(end) for end in ends], color=color, linewidth=1
    )


def _gains(
    points: Sequence[Point], name: str, vocabulary: str, kind: str
) -> list[tuple[float, float]]:
    """Perplexities and what was gained."""
    return [
        (point.perplexity, gained)
        for point in points
        if (point.set, point.vocabulary) == (name, vocabulary)
        and (gained := getattr(point, kind)) is not None
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print and draw; returns 0, or 2 for files that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="curve.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE.json")
    parser.add_argument("--gain", type=float, default=4.5, metavar="F1", help="default: 4.5")
    parser.add_argument(
        "--below",
        type=float,
        default=float("inf"),
        metavar="PERPLEXITY",
        help="without the points above (default: all points)",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args(argv)
    try:
        points = read_points(arguments.tables)
        points = [point for point in points if point.perplexity < arguments.below]
        found = lines(points)
        if not found:
            print(f"curve: a line needs {_FEWEST} perplexities or more", file=sys.stderr)
        print(report(points, found, arguments.gain), end="")
        if arguments.plot:
            draw(points, found, arguments.gain, arguments.plot)
    except RerankError as error:
        print(f"curve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
