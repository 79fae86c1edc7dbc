"""Clauses of parsed text beside those of gold trees: the words of gold trees are parsed.

    python eval/plugins/clauses.py masc/dev.mrg wsj/dev.mrg gum/dev.mrg

For each file: F1 of the spans of all S, SBAR, SINV, SQ and SBARQ nodes; of clauses, in which SBAR
and its S are one; of right ones, the share whose kind and finiteness are those of the gold tree's;
and the calibration error of the probability that just these words are a clause, over ten bins.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np

from reranker.errors import TreeError
from reranker.files.table import aligned
from reranker.nbest.data import Sentence
from reranker.parsers.choice import kept_parser
from reranker.plugins.clauses.clause import LABELS, Clause, Range, clauses, placed
from reranker.process.flags import reporting_errors
from reranker.trees.constituents import brackets
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank


@reporting_errors("clauses")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("gold", nargs="+", help="files of gold trees")
    parser.add_argument("--parser-model", default="", help="a span model (default: the installed)")
    arguments = parser.parse_args()
    rows = [("file", "sentences", "nodes", "F1", "clauses", "F1", "kind", "finite", "ECE")]
    print(aligned([*rows, *(row(file, arguments.parser_model) for file in arguments.gold)]))
    return 0


def row(file: str, model: str) -> tuple[str, ...]:
    """Return the figures of a file."""
    parser = kept_parser("chart", parser_model=model)
    nodes, spans, same = Counter[str](), Counter[str](), Counter[str]()
    calibration: list[tuple[float, bool]] = []
    sentences = 0
    for gold in map(cleaned, read_treebank([file])):
        (answer,) = parser.parse([Sentence(tuple(gold.words()))])
        if isinstance(answer, str) or answer.certainty is None:
            continue
        sentences += 1
        parsed = answer.candidates[0].tree
        count(nodes, spans_of_nodes(gold), spans_of_nodes(parsed))
        right = {each.span: each for each in found(gold)}
        probable = answer.certainty.probabilities
        own = [placed(each, lambda words: words, probable) for each in found(parsed)]
        count(spans, list(right), [each.span for each in own])
        for each in own:
            calibration.append((each.probability or 0.0, each.span in right))
            if (other := right.get(each.span)) is not None:
                same["kind"] += each.kind == other.kind
                same["finite"] += each.finite == other.finite
    shares = [f"{100 * same[name] / max(1, spans['matched']):.1f}" for name in ("kind", "finite")]
    return (
        file, str(sentences), str(nodes["gold"]), f1(nodes), str(spans["gold"]), f1(spans), *shares,
        f"{error(calibration):.3f}",
    )  # fmt: skip


def spans_of_nodes(tree: Tree) -> list[Range]:
    """Return the span of each clause node."""
    return [(start, end) for node, start, end in brackets(tree) if node.label in LABELS]


def found(tree: Tree) -> list[Clause[Range]]:
    """Return the clauses of a tree, none if they cannot be told."""
    try:
        return clauses(tree)
    except TreeError:
        return []


def count(counts: Counter[str], gold: Iterable[Range], test: Iterable[Range]) -> None:
    """Count the spans of both, and those that match, one for one."""
    in_gold, in_test = Counter(gold), Counter(test)
    counts += Counter(
        gold=in_gold.total(), test=in_test.total(), matched=(in_gold & in_test).total()
    )


def f1(counts: Counter[str]) -> str:
    return f"{200 * counts['matched'] / max(1, counts['gold'] + counts['test']):.2f}"


def error(calibration: list[tuple[float, bool]]) -> float:
    """Return the expected calibration error over ten bins, NaN without a clause."""
    if not calibration:
        return math.nan
    probabilities, is_right = (np.array(each, float) for each in zip(*calibration, strict=True))
    bins = np.minimum((10 * probabilities).astype(int), 9)
    gaps = (abs((probabilities - is_right)[bins == each].sum()) for each in range(10))
    return float(sum(gaps) / len(bins))


if __name__ == "__main__":
    sys.exit(main())
