"""``rerank eval``: EVALB's figures for two treebank files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reranker.commands.arguments import whole_number
from reranker.commands.ranked_file import best_trees
from reranker.errors import InputError
from reranker.evaluation.corpus import Parameters, evaluate
from reranker.evaluation.lines import with_top_root
from reranker.evaluation.report import format_report, to_json
from reranker.files.output import open_whole
from reranker.files.text import read_lines

EXAMPLES = """examples:
  rerank eval gold.mrg best.txt --top-root
  rerank eval gold.mrg.gz best.txt --parameters eval/collins.prm --sentences

exit status: 0 every sentence was scored or skipped, 1 some could not be compared (each is named),
2 unusable files, 3 out of memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank eval`` to ``parser``."""
    parser.add_argument("gold", metavar="GOLD", help="gold trees, one per line; .gz or -")
    parser.add_argument(
        "test", metavar="TEST", help="trees to score, one per line, or ranked output"
    )
    parser.add_argument(
        "--parameters",
        type=Path,
        metavar="FILE.prm",
        help="what to ignore and to treat as equal (default: COLLINS' settings)",
    )
    parser.add_argument(
        "--max-error",
        type=whole_number(0),
        metavar="N",
        help="flag the figures if more sentences than this cannot be compared (default: 10, or "
        "MAX_ERROR in FILE.prm); unlike EVALB, scoring continues",
    )
    parser.add_argument(
        "--top-root",
        action="store_true",
        help="rename the root of every tree to TOP first; COLLINS' settings count S1 and ROOT",
    )
    parser.add_argument("--sentences", action="store_true", help="print a row for each sentence")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the report, and on stderr each sentence left out and why; returns the exit code.

    0: every sentence scored or skipped; 1: at least one was an error; 2: none could be scored.
    Raises RerankError for files that cannot be compared at all.
    """
    if arguments.gold == arguments.test == "-":
        raise InputError("GOLD and TEST cannot both be standard input")
    parameters = (
        Parameters.from_file(arguments.parameters) if arguments.parameters else Parameters.collins()
    )
    gold, test = list(read_lines(arguments.gold)), best_trees(arguments.test)
    if len(gold) != len(test):
        raise InputError(
            f"{arguments.gold} has {len(gold)} lines but {arguments.test} has {len(test)}"
        )
    if arguments.top_root:
        gold, test = [with_top_root(line) for line in gold], [with_top_root(line) for line in test]
    report = evaluate(gold, test, parameters, arguments.max_error)
    for number, row in enumerate(report.rows, 1):
        if row.status != "valid":
            print(f"{arguments.test}:{number}: {row.status}: {row.reason}", file=sys.stderr)
    with open_whole(None) as out:
        if arguments.json:
            out.write(to_json(report) + "\n")
        else:
            out.write(format_report(report, arguments.sentences or parameters.debug > 0))
    if report.too_many_errors:
        print(
            f"{arguments.test}: {report.all.errors} of {report.all.sentences} sentences could not "
            f"be compared, more than --max-error {report.max_error}",
            file=sys.stderr,
        )
    if not report.all.valid:
        print(f"{arguments.test}: no sentence could be scored", file=sys.stderr)
        return 2
    return 1 if report.all.errors else 0
