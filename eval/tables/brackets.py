"""Are brackets as often right as the parser chart says? For treebanks, with and without the
model's temperature.

    python eval/tables/brackets.py gum=gum/dev.mrg.gz wsj=wsj/dev.mrg.gz --plot brackets.png

Every bracket of the chart's first tree, for the treebank's own words, is right or wrong by the gold
tree; punctuation counts. The expected calibration error is the mean distance between what was said
of a tenth of the brackets and how many of them are right; beside it what chance alone would give.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from reranker.chart.best import Chart
from reranker.chart.bracketed import bracketed
from reranker.checkpoints.installed import installed_span_model
from reranker.checkpoints.span_file import SpanCheckpoint, load_span_model
from reranker.commands.arguments import script_parser
from reranker.errors import RerankError
from reranker.files.figure import new_figure, save_figure
from reranker.files.markdown import grid
from reranker.parsers.chart import certainty_of, gains_of
from reranker.scoring.span_table import read_sentence
from reranker.trees.constituents import constituents
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank
from reranker.tuning.confidence import Judged


def judged(
    member: SpanCheckpoint, trees: Sequence[Tree], temperatures: Sequence[float]
) -> list[Judged]:
    """The brackets of the first tree of each sentence, at each temperature. Raises RerankError if
    there are none."""
    is_right: list[bool] = []
    said: list[list[float]] = [[] for _ in temperatures]
    labels = member.vocabulary.labels
    for tree in trees:
        gold = linearize(tree)
        words = tuple(token for token in gold if token[0] not in "()")
        gains, _ = gains_of(read_sentence(member.model, member.vocabulary, words))
        _, tokens = bracketed(Chart(gains).best().spans, labels, words, words, "TOP")
        left = Counter(_brackets(gold))
        for bracket in _brackets(tokens):
            is_right.append(left[bracket] > 0)
            left[bracket] -= 1
        for values, temperature in zip(said, temperatures, strict=True):
            values += [row[-1] for row in certainty_of(gains, labels, temperature).of(tokens)]
    if not is_right:
        raise RerankError("the parser's trees have no brackets")
    return [Judged(np.array(is_right), np.array(values)) for values in said]


def _brackets(tokens: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for each in constituents(tokens):
        for label in each.label.split(" "):
            yield each.start, each.end, label


def main(argv: Sequence[str]) -> int:
    """Print a row for each treebank and temperature; returns 0, or 2 for unusable files."""
    parser = script_parser("brackets.py", __doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=TREES")
    parser.add_argument("--parser-model", default="", metavar="FILE.pt")
    parser.add_argument("--every", type=int, default=1, help="take every n-th tree")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="the reliability diagram")
    arguments = parser.parse_args(argv)
    try:
        path, sha256 = installed_span_model(arguments.parser_model)
        member = load_span_model(path, sha256=sha256)
        fitted = float(member.information.get("temperature", 1.0))
        figure = new_figure(arguments.plot) if arguments.plot else None
        axes = figure.subplots() if figure else None
        rows = []
        for text in arguments.sets:
            name, _, file = text.partition("=")
            trees = list(read_treebank([file]))[:: arguments.every]
            temperatures = [*dict.fromkeys((1.0, fitted))]
            for temperature, found in zip(
                temperatures, judged(member, trees, temperatures), strict=True
            ):
                rows.append(
                    [
                        name,
                        f"{temperature:g}",
                        f"{len(found.said):,}",
                        f"{100 * found.share:.1f}",
                        f"{100 * found.said.mean():.1f}",
                        f"{found.calibration_error:.3f} ({found.error_by_chance:.3f})",
                        f"{found.brier:.4f}",
                    ]
                )
            if axes:
                bins = found.bins
                axes.plot([one.said for one in bins], [one.found for one in bins], "o-", label=name)
        if figure and axes:
            axes.plot([0, 1], [0, 1], color="gray", linestyle=":", label="perfectly calibrated")
            axes.set(xlabel="probability of a bracket", ylabel="share that is right")
            axes.grid(alpha=0.3)
            axes.legend()
            save_figure(figure, arguments.plot)
    except RerankError as error:
        print(f"brackets: {error}", file=sys.stderr)
        return 2
    heads = ["", "temperature", "brackets", "right, %", "said, %", "ECE (chance)", "Brier"]
    print(grid(heads, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
