"""Probabilities of brackets beside the share of these brackets that are right.

    python eval/calibration.py GUM=gum/dev.mrg.gz MASC=masc/dev.mrg --picture brackets.png

The words of gold trees are parsed. For each treebank, all brackets of the first trees: the share
that the gold tree has, too, the mean probability, the expected calibration error over ten bins, the
error that chance would give if every probability were exactly right, and the Brier score.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.files.figure import new_figure, save_figure
from reranker.files.output import output_path
from reranker.files.table import aligned
from reranker.nbest.data import Sentence
from reranker.parsers.choice import kept_parser
from reranker.process.flags import positive, reporting_errors
from reranker.trees.constituents import brackets
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import read_treebank

_BINS = 10
_SENTENCES = 100  # parsed together
_DRAWS = 200  # of outcomes by chance
_HEADS = ("treebank", "sentences", "brackets", "right, %", "said, %", "ECE (by chance)", "Brier")


class Calibration(NamedTuple):
    """Brackets of some trees: their probabilities [N], and whether they are right [N]."""

    sentences: int
    probabilities: NDArray[np.float64]
    is_right: NDArray[np.bool_]

    def row(self) -> tuple[str, ...]:
        """Return the figures of the table."""
        predicted, right = self.probabilities, self.is_right
        generator = np.random.default_rng(1)
        chance = [
            error(predicted, generator.random(len(predicted)) < predicted) for _ in range(_DRAWS)
        ]
        return (
            f"{self.sentences:,}", f"{len(predicted):,}", f"{100 * right.mean():.1f}",
            f"{100 * predicted.mean():.1f}",
            f"{error(predicted, right):.3f} ({np.mean(chance):.3f})",
            f"{np.square(predicted - right).mean():.4f}",
        )  # fmt: skip


def error(predicted: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error: the mean distance of a bin's probability and share,
    weighted by its brackets."""
    gaps = np.bincount(_bins(predicted), predicted - right, minlength=_BINS)
    return float(abs(gaps).sum() / len(predicted))


def _bins(predicted: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)


def calibration(file: str, model: str, limit: int | None) -> Calibration:
    """Parse the words of a file's trees, and compare the brackets of both."""
    parser = kept_parser("chart", parser_model=model)
    probabilities: list[float] = []
    is_right: list[bool] = []
    sentences = 0
    gold = map(cleaned, itertools.islice(read_treebank([file]), limit))
    while some := list(itertools.islice(gold, _SENTENCES)):
        answers = parser.parse([Sentence(tuple(tree.words())) for tree in some])
        for tree, answer in zip(some, answers, strict=True):
            if isinstance(answer, str) or answer.certainty is None:
                continue
            sentences += 1
            left = Counter((start, end, node.label) for node, start, end in brackets(tree))
            for start, end, label, probability in answer.certainty.of(answer.candidates[0].tokens):
                probabilities.append(probability)
                is_right.append(left[start, end, label] > 0)
                left[start, end, label] -= 1
    return Calibration(sentences, np.array(probabilities), np.array(is_right, bool))


def draw(path: Path, found: dict[str, Calibration]) -> None:
    """Draw the share of right brackets by probability, a line a treebank."""
    figure = new_figure(path)
    axes = figure.subplots()
    axes.plot([0, 100], [0, 100], color="0.7", linestyle="--", linewidth=1)
    for name, (_, predicted, right) in found.items():
        counts = np.bincount(_bins(predicted), minlength=_BINS)
        used = counts >= _BINS  # a share of fewer says little
        means, shares = (
            100 * np.bincount(_bins(predicted), each, minlength=_BINS)[used] / counts[used]
            for each in (predicted, right)
        )
        axes.plot(means, shares, marker="o", markersize=4, label=name)
    axes.set(xlabel="probability that the parser gives, %", ylabel="brackets that are right, %")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


@reporting_errors("calibration")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("treebanks", nargs="+", metavar="NAME=FILE", help="gold trees")
    parser.add_argument("--parser-model", default="", help="a span model (default: the installed)")
    parser.add_argument("--limit", type=positive, help="the first trees of each file")
    parser.add_argument("--picture", type=Path, help="draw shares by probability")
    arguments = parser.parse_args()
    parts = (each.rpartition("=") for each in arguments.treebanks)
    named = {name or file: file for name, _, file in parts}
    picture = output_path(arguments.picture, named.values())
    found = {}
    for name, file in named.items():
        found[name] = calibration(file, arguments.parser_model, arguments.limit)
    print(aligned([_HEADS, *((name, *each.row()) for name, each in found.items())]))
    if picture:
        draw(picture, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
