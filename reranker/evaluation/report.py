"""A corpus score as EVALB prints it, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from reranker.evaluation.corpus import CorpusScore, Summary
from reranker.evaluation.sentence import SentenceScore
from reranker.files.visible import counted

_HEADER = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
"""
_RULE = "=" * 76
_STATUS_NUMBERS = {"valid": 0, "error": 1, "skip": 2}
_RATES = {
    "recall": "Bracketing Recall",
    "precision": "Bracketing Precision",
    "f1": "Bracketing FMeasure",
    "complete_match": "Complete match",
    "average_crossing": "Average crossing",
    "no_crossing": "No crossing",
    "two_or_less_crossing": "2 or less crossing",
    "tagging_accuracy": "Tagging accuracy",
}


def format_report(score: CorpusScore, sentences: bool = False) -> str:
    """Return EVALB's summary block, with its rows and number formats, after one row per sentence if
    asked.

    The report ends with a warning line, which EVALB does not have, if there were more errors than
    allowed.
    """
    lines = []
    if sentences:
        lines += [_HEADER + _RULE]
        lines += [_row(number, row) for number, row in enumerate(score.rows, 1)]
        lines += [_RULE, _totals(score.all)]
    lines += ["=== Summary ===", ""]
    lines += ["-- All --", *_figures(score.all), ""]
    lines += [f"-- len<={score.parameters.cutoff_length} --", *_figures(score.short)]
    if score.too_many_errors:
        lines += [
            "",
            f"NOT COMPARABLE: {counted(score.all.errors, 'sentence')} with errors left out, more "
            f"than the {score.max_error} allowed",
        ]
    return "\n".join(lines) + "\n"


def to_json(score: CorpusScore) -> str:
    """Return everything as one JSON object on one line; rates are percentages, unrounded."""
    parameters = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in asdict(score.parameters).items()
    }
    content = {
        "all": _summary(score.all),
        "short": _summary(score.short),
        "max_error": score.max_error,
        "too_many_errors": score.too_many_errors,
        "parameters": parameters,
        "rows": [
            {"line": number, **asdict(row), "recall": row.recall, "precision": row.precision}
            for number, row in enumerate(score.rows, 1)
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
    rates = {title: getattr(summary, name) for name, title in _RATES.items()}
    return [f"{name:25} = {count:6d}" for name, count in counts.items()] + [
        f"{name:25} = {rate:6.2f}" for name, rate in rates.items()
    ]


def _summary(summary: Summary) -> dict[str, float]:
    rates = {name: getattr(summary, name) for name in _RATES}
    return {**asdict(summary), "valid": summary.valid, **rates}
