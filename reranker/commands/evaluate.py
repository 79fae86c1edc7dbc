"""``rerank eval``: EVALB's figures for two treebanks."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from reranker.commands.progress import message, rejection
from reranker.evaluation.alignment import complaints, paired
from reranker.evaluation.corpus import Parameters, evaluate
from reranker.evaluation.report import format_report, to_json
from reranker.files.opening import refuse_second_stdin
from reranker.files.output import open_whole
from reranker.outputs.ranked_file import best_trees
from reranker.process.flags import whole_number
from reranker.trees.treebank import named, read_sentences

EXAMPLES = """examples:
  rerank eval gold.mrg best.txt
  rerank eval wsj/23/ best.txt --sentences
  rerank eval wsj/23/*.mrg best.txt --parameters eval/collins.prm

exit status: 0 every sentence was scored or skipped, 1 some could not be compared (each is named),
2 unusable files, 3 out of memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank eval`` to ``parser``."""
    add = parser.add_argument
    text = "gold trees: files, folders, quoted patterns; plain, .gz or .zst; - reads standard input"
    add("gold", nargs="+", metavar="GOLD", help=text)
    add("test", metavar="TEST", help="trees to score, or ranked output")
    text = "EVALB's parameters: labels to ignore and to treat as equal (default: COLLINS' settings)"
    add("--parameters", type=Path, metavar="FILE.prm", help=text)
    text = (
        "warn if more than N sentences cannot be compared (default: 10, or MAX_ERROR in "
        "FILE.prm); unlike EVALB, scoring continues"
    )
    add("--max-error", type=whole_number(0), metavar="N", help=text)
    text = (
        "count roots called S1, ROOT or nothing as brackets, as EVALB does, and TOP if FILE.prm "
        "does not delete it (default: no root counts)"
    )
    add("--count-roots", action="store_true", help=text)
    add("--sentences", action="store_true", help="also print a row per sentence")
    add("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the report and, on stderr, why each sentence was left out; returns the exit code.

    0: every sentence scored or skipped; 1: at least one was an error; 2: none could be scored.
    Raises RerankError for files that cannot be compared at all.
    """
    refuse_second_stdin([*arguments.gold, arguments.test])
    parameters = (
        Parameters.from_file(arguments.parameters) if arguments.parameters else Parameters.collins()
    )
    parameters = replace(parameters, count_roots=arguments.count_roots)
    gold, test = paired(
        read_sentences(arguments.gold),
        best_trees(arguments.test),
        named(arguments.gold),
        arguments.test,
    )
    lines = [place.text for place in gold], [place.text for place in test]
    report = evaluate(*lines, parameters, arguments.max_error)
    for line in complaints(gold, test, report.rows):
        rejection(line)
    with open_whole(None) as out:
        if arguments.json:
            out.write(to_json(report) + "\n")
        else:
            out.write(format_report(report, arguments.sentences or parameters.debug > 0))
    errors = [row for row in report.rows if row.status == "error"]
    is_gold = bool(errors) and all(row.blames_gold for row in errors)
    name = named(arguments.gold) if is_gold else arguments.test
    if report.too_many_errors:
        message(
            f"{name}: {report.all.errors} of {report.all.sentences} sentences could not "
            f"be compared, more than --max-error {report.max_error}"
        )
    if not report.all.valid:
        message(f"{name}: no sentence could be scored")
        return 2
    return 1 if report.all.errors else 0
