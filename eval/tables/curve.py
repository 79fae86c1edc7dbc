"""How F1 follows perplexity in the F1 tables that were made, and what perplexity a gain would need:

    python eval/tables/curve.py runs/tables-open/open-table-11.json --gain 4.5 --plot curve.png

A point is a row of a table on one of its sets: an ensemble, or the mean of a model's seeds. Through
those of one vocabulary a line is drawn, gain over the parser's F1 = a - b ln(perplexity), by least
squares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reranker.commands.arguments import script_parser
from reranker.errors import InputError, RerankError
from reranker.files.figure import label_plainly, new_figure, save_figure
from reranker.files.markdown import grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {"alone": "language models alone", "mixed": "mixed with the parser"}
FEWEST = 3  # perplexities that a line is drawn through

Group = tuple[str, str, str]  # set, vocabulary and kind of choice: what a line is drawn for


class GainPoint(NamedTuple):
    """A row's gain over the parser, in F1 points."""

    row: str
    perplexity: float
    gain: float


class GainLine(NamedTuple):
    """gain = ``at_one`` - ``per_nat`` ln(perplexity), and how far points lie from it."""

    at_one: float
    per_nat: float
    deviation: float

    @classmethod
    def through(cls, points: Sequence[GainPoint]) -> GainLine:
        nats = np.log([point.perplexity for point in points])
        gains = np.array([point.gain for point in points])
        slope, at_one = np.polyfit(nats, gains, 1).tolist()
        squares = float(((gains - at_one - slope * nats) ** 2).sum())
        return cls(at_one, -slope, (squares / max(1, len(points) - 2)) ** 0.5)

    def perplexity_for(self, gain: float) -> float | None:
        """Where the line reaches the gain; None if it does not fall, or reaches it below 1."""
        if self.per_nat <= 0 or gain > self.at_one:
            return None
        return float(np.exp((self.at_one - gain) / self.per_nat))


def read_points(paths: Sequence[Path]) -> dict[Group, list[GainPoint]]:
    """The rows of F1 tables. Raises InputError for another file, and if no row has both figures."""
    points: dict[Group, list[GainPoint]] = {}
    for path in paths:
        try:
            for group, point in _points(json.loads(path.read_text("utf-8"))):
                points.setdefault(group, []).append(point)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not the JSON of an F1 table: {error!r}") from error
    if not points:
        raise InputError("no row with a perplexity and F1")
    return points


def _points(table: dict[str, Any]) -> Iterator[tuple[Group, GainPoint]]:
    for row in table["rows"]:
        for name, figures in {} if "failed" in row else row["sets"].items():
            if None in figures["perplexity"]:
                continue
            label, base = table["sets"][name]["name"], table["sets"][name]["parser"]
            vocabulary = table["vocabularies"][row["vocabularies"][0]]
            for kind in KINDS:
                if figures[kind]:
                    gain = mean(each["f1"] for each in figures[kind]) - base
                    point = GainPoint(row["name"], mean(figures["perplexity"]), gain)
                    yield (label, vocabulary, kind), point


def fit(points: dict[Group, list[GainPoint]]) -> dict[Group, GainLine]:
    """A line through the points of each group that has enough."""
    return {
        group: GainLine.through(members)
        for group, members in sorted(points.items())
        if len({point.perplexity for point in members}) >= FEWEST
    }


def report(points: dict[Group, list[GainPoint]], lines: dict[Group, GainLine], gain: float) -> str:
    """A Markdown table of the lines."""
    heads = ["set", "vocabulary", "choice", "points", "least perplexity", "best gain", "F1 a nat"]
    rows = []
    for group, line in lines.items():
        name, vocabulary, kind = group
        least = min(point.perplexity for point in points[group])
        best = max(point.gain for point in points[group])
        needed = line.perplexity_for(gain)
        cells = [name, vocabulary[:8], kind, f"{len(points[group])}", f"{least:.2f}"]
        cells += [f"{best:+.2f}", f"{line.per_nat:.1f}", f"{line.deviation:.2f}"]
        rows.append([*cells, "-" if needed is None else f"{needed:.2f}"])
    return grid([*heads, "±", f"for +{gain:g}"], rows) + "\n"


def draw(
    points: dict[Group, list[GainPoint]], lines: dict[Group, GainLine], gain: float, path: Path
) -> None:
    """A panel for each set: points, their lines, dashed beyond the points, and the gain."""
    names = list(dict.fromkeys(name for name, _, _ in points))
    figure = new_figure(path)
    figure.set_size_inches(6 * len(names), 5)
    figure.suptitle("F1 gained over the parser, by the language models' perplexity")
    panels = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for name, axes in zip(names, panels, strict=True):
        axes.axhline(0, color="gray", linewidth=1)
        axes.axhline(gain, color="gray", linestyle=":", linewidth=1)
        axes.annotate(
            f"+{gain:g}", (0.93, gain), (0, 3), ("axes fraction", "data"), "offset points"
        )
        _draw_points(axes, name, points, lines, gain)
        axes.set(xscale="log", title=name, xlabel="perplexity per token, log scale")
        label_plainly(axes.xaxis)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("gain over the parser's first tree, F1 points")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    save_figure(figure, path)


def _draw_points(
    axes: Axes,
    name: str,
    points: dict[Group, list[GainPoint]],
    lines: dict[Group, GainLine],
    gain: float,
) -> None:
    """Draw the points of one set. Colours are kinds of choice, markers vocabularies, which the
    legend names by their model if there is only one."""
    vocabularies = list(dict.fromkeys(vocabulary for _, vocabulary, _ in points))
    for (place, vocabulary, kind), members in points.items():
        if place != name:
            continue
        number, color = vocabularies.index(vocabulary), f"C{list(KINDS).index(kind)}"
        rows = {point.row for point in members}
        models = min(rows) if len(rows) == 1 else f"{len(rows)} models of one vocabulary"
        perplexities = [point.perplexity for point in members]
        axes.scatter(
            perplexities,
            [point.gain for point in members],
            marker="os^Dv"[number % 5],
            color=color,
            facecolors="none" if number else None,
            label=f"{models}, {KINDS[kind]}",
        )
        if line := lines.get((place, vocabulary, kind)):
            least, most = min(perplexities), max(perplexities)
            needed = line.perplexity_for(gain) or least
            for ends, style in (([least, most], "-"), ([min(needed, least), least], "--")):
                gains = line.at_one - line.per_nat * np.log(ends)
                axes.plot(ends, gains, style, color=color, linewidth=1)


def main(argv: Sequence[str]) -> int:
    """Print and draw; returns 0, or 2 for files that cannot be used."""
    parser = script_parser("curve.py", __doc__)
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE.json")
    parser.add_argument("--gain", type=float, default=4.5, metavar="F1", help="default: 4.5")
    parser.add_argument("--plot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args(argv)
    try:
        points = read_points(arguments.tables)
        lines = fit(points)
        if not lines:
            print(f"curve: a line needs {FEWEST} perplexities or more", file=sys.stderr)
        print(report(points, lines, arguments.gain), end="")
        if arguments.plot:
            draw(points, lines, arguments.gain, arguments.plot)
    except RerankError as error:
        print(f"curve: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
