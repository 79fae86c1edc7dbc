"""``rerank compare``: F1 of several parsers, and whether they really differ."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from reranker.commands.progress import rejection
from reranker.errors import InputError
from reranker.evaluation.alignment import complaints, paired
from reranker.files.output import write_line
from reranker.files.table import aligned
from reranker.outputs.ranked_file import best_trees
from reranker.process.flags import file_name, whole_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reranker.evaluation.brackets import GoldTrees
    from reranker.evaluation.significance import Comparison

EXAMPLES = """examples:
  rerank compare gold.mrg parser.txt reranked.txt
  rerank compare gold.mrg one.jsonl two.jsonl three.jsonl --gold-tags

Each OTHER is compared with FIRST. In output of `rerank --output ranked`, the best trees count. Root
brackets do not count.

exit status: 0 success, 2 unusable files, 3 out of memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank compare`` to ``parser``."""
    add = parser.add_argument
    add("gold", metavar="GOLD", help="gold trees: a file, a folder or a quoted pattern")
    add("first", type=file_name, metavar="FIRST", help="trees, or ranked output")
    add(
        "others", type=file_name, metavar="OTHER", nargs="+", help="the same, to compare with FIRST"
    )
    add("--gold-tags", action="store_true", help="give every tree the gold tags first")
    text = "samples for each test (default: 10000)"
    add("--samples", type=whole_number(1, 10_000_000), default=10_000, metavar="N", help=text)
    text = "random seed of the samples (default: 12345)"
    add("--seed", type=whole_number(1, 10_000_000), default=12345, metavar="N", help=text)
    add("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print each F1 and the significance of the differences; return the exit code."""
    # numpy is slow to load, and other commands do without it.
    from reranker.evaluation.brackets import GoldTrees, corpus_f1
    from reranker.evaluation.significance import compare

    names = [arguments.gold, arguments.first, *arguments.others]
    if names.count("-") > 1:
        raise InputError("only one of the files can be standard input")
    gold = GoldTrees([arguments.gold], arguments.gold_tags)
    first, *others = [_counts(gold, name) for name in names[1:]]
    comparisons = [compare(first, other, arguments.samples, arguments.seed) for other in others]
    settings = {
        "sentences": len(gold),
        "samples": arguments.samples,
        "seed": arguments.seed,
        "evalb": "COLLINS",
        "tags": "gold" if arguments.gold_tags else "parser",
    }
    if arguments.json:
        rows = [
            {"file": name, **asdict(comparison)}
            for name, comparison in zip(names[2:], comparisons, strict=True)
        ]
        start = {"file": names[1], "f1": corpus_f1(first)}
        write_line(json.dumps({**settings, "first": start, "others": rows}, allow_nan=False))
    else:
        write_line(_table(names[1:], corpus_f1(first), comparisons))
        write_line(" ".join(f"{name}={value}" for name, value in settings.items()))
    return 0


def _counts(gold: GoldTrees, name: str) -> NDArray[np.int64]:
    """Return the matched, gold and test brackets of the file's trees, or of the best trees of its
    rankings, [S, 3]."""
    import numpy as np

    _, trees = paired(gold.places, best_trees(name), gold.name, name)
    scores = [standard.score(tree.text) for standard, tree in zip(gold, trees, strict=True)]
    for line in complaints(gold.places, trees, scores):
        rejection(line)
    return np.array([score.counts for score in scores])


def _table(names: Sequence[str], first_f1: float, comparisons: Sequence[Comparison]) -> str:
    rows = [
        ("", "F1", "difference", "95% interval", "bootstrap p", "randomisation p"),
        (names[0], f"{first_f1:.2f}", "", "", "", ""),
    ]
    for name, comparison in zip(names[1:], comparisons, strict=True):
        interval = f"{comparison.low:+.2f} to {comparison.high:+.2f}"
        p_values = f"{comparison.bootstrap_p:.4f}", f"{comparison.randomisation_p:.4f}"
        figures = f"{comparison.f1:.2f}", f"{comparison.difference:+.2f}"
        rows.append((name, *figures, interval, *p_values))
    return aligned(rows)
