"""A report as EVALB prints it, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from reranker.evaluation.corpus import Report, SentenceScore, Summary

_HEADER = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
"""
_RULE = "=" * 76
_STATUS_NUMBERS = {"valid": 0, "error": 1, "skip": 2}


def format_report(report: Report, sentences: bool = False) -> str:
    """The summary block of EVALB, its rows and number formats, after one row per sentence if asked.

    Ends with a warning line, which EVALB has not, if there were more errors than allowed.
    """
    lines = []
    if sentences:
        lines += [_HEADER + _RULE]
        lines += [_row(number, score) for number, score in enumerate(report.rows, 1)]
        lines += [_RULE, _totals(report.all)]
    lines += ["=== Summary ===", ""]
    lines += ["-- All --", *_figures(report.all), ""]
    lines += [f"-- len<={report.parameters.cutoff_length} --", *_figures(report.short)]
    if report.too_many_errors:
        lines += [
            "",
            f"NOT COMPARABLE: {report.all.errors} sentences with errors were left out, more than "
            f"the {report.max_error} allowed",
        ]
    return "\n".join(lines) + "\n"


def to_json(report: Report) -> str:
    """The whole report as one JSON object on one line; rates are percentages, unrounded."""
    parameters = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in asdict(report.parameters).items()
    }
    content = {
        "all": _summary(report.all),
        "short": _summary(report.short),
        "max_error": report.max_error,
        "too_many_errors": report.too_many_errors,
        "parameters": parameters,
        "rows": [
            {"line": number, **asdict(score), "recall": score.recall, "precision": score.precision}
            for number, score in enumerate(report.rows, 1)
        ],
    }
    return json.dumps(content, allow_nan=False)


def _row(number: int, score: SentenceScore) -> str:
    accuracy = 100 * score.correct_tags / (score.words or 1)
    return (
        f"{number:4d}  {score.length:3d}    {_STATUS_NUMBERS[score.status]}  "
        f"{score.recall:6.2f} {score.precision:6.2f}   {score.matched:3d}    {score.gold:3d}  "
        f"{score.test:3d}    {score.crossing:3d}   {score.words:4d}  {score.correct_tags:4d}   "
        f"{accuracy:6.2f}"
    )


def _totals(summary: Summary) -> str:
    return (
        f"{'':16}{summary.recall:6.2f} {summary.precision:6.2f} {summary.matched:6d} "
        f"{summary.gold:5d} {summary.test:5d}  {summary.crossing:5d}  {summary.words:5d} "
        f"{summary.correct_tags:5d}   {summary.tagging_accuracy:6.2f}"
    )


def _figures(summary: Summary) -> list[str]:
    counts = {
        "Number of sentence": summary.sentences,
        "Number of Error sentence": summary.errors,
        "Number of Skip  sentence": summary.skipped,
        "Number of Valid sentence": summary.valid,
    }
    rates = {
        "Bracketing Recall": summary.recall,
        "Bracketing Precision": summary.precision,
        "Bracketing FMeasure": summary.f1,
        "Complete match": summary.complete_match,
        "Average crossing": summary.average_crossing,
        "No crossing": summary.no_crossing,
        "2 or less crossing": summary.two_or_less_crossing,
        "Tagging accuracy": summary.tagging_accuracy,
    }
    return [f"{name:25} = {count:6d}" for name, count in counts.items()] + [
        f"{name:25} = {rate:6.2f}" for name, rate in rates.items()
    ]


def _summary(summary: Summary) -> dict[str, float]:
    return {
        **asdict(summary),
        "valid": summary.valid,
        "recall": summary.recall,
        "precision": summary.precision,
        "f1": summary.f1,
        "complete_match": summary.complete_match,
        "average_crossing": summary.average_crossing,
        "no_crossing": summary.no_crossing,
        "two_or_less_crossing": summary.two_or_less_crossing,
        "tagging_accuracy": summary.tagging_accuracy,
    }
