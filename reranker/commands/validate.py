"""``rerank validate``: what is in an n-best file, before anything is scored."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import reranker.commands.nbest_files as nbest_arguments
from reranker.checkpoints.ensemble_file import named_models
from reranker.files.output import open_whole
from reranker.nbest import NBest

EXAMPLES = """examples:
  rerank validate parses.txt.gz
  rerank validate samples.rnng --tokens sentences.txt --json > report.json
  rerank validate parses.txt --models ckpt/*.pt

exit status: 0 fine, 1 some candidates were rejected, 2 not an n-best file"""

SHOWN_LINES = 10
SHOWN_WORDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank validate`` to ``parser``."""
    nbest_arguments.add_arguments(parser, required=False)
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="FILE",
        help="count the words that these checkpoints, or those of an ensemble.toml, do not know",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


@dataclass(slots=True)
class Report:
    """What ``rerank validate`` counts; ``--json`` prints just this."""

    files: list[dict[str, str]] = field(default_factory=list)
    sentences: int = 0
    without_candidates: int = 0
    candidates: int = 0
    duplicates: int = 0
    repaired: int = 0
    rejected: int = 0
    rejected_by_code: dict[str, int] = field(default_factory=dict)
    rejected_lines: dict[str, list[str]] = field(default_factory=dict)
    """By code, the first few as file:line."""
    longest_list: int = 0
    longest_sentence: int = 0
    scored: int = 0
    lowest_score: float | None = None
    highest_score: float | None = None
    words: int = 0
    unknown_words: dict[str, int] = field(default_factory=dict)
    """By checkpoint, words of the sentences that it does not know."""
    frequent_unknown_words: dict[str, list[str]] = field(default_factory=dict)


def run(arguments: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    knows = _vocabularies(arguments.models) if arguments.models else {}
    report = Report()
    unknown: dict[str, Counter[str]] = defaultdict(Counter)
    lists = nbest_arguments.open_lists(arguments, describe=report.files.append)
    for nbest in lists:
        count(report, nbest)
        words = nbest.candidates[0].words if nbest.candidates else []
        for name, is_unknown in knows.items():
            unknown[name].update(word for word in words if is_unknown(word))
    for name in knows:
        report.unknown_words[name] = unknown[name].total()
        frequent = unknown[name].most_common(SHOWN_WORDS)
        report.frequent_unknown_words[name] = [word for word, _ in frequent]
    text = json.dumps(asdict(report), ensure_ascii=False, indent=2) if arguments.json else None
    with open_whole(None) as out:
        out.write((_format(report) if text is None else text) + "\n")
    return 1 if report.rejected else 0


def _vocabularies(given: list[str]) -> dict[str, Callable[[str], bool]]:
    from reranker.checkpoints.checkpoint import load_checkpoint

    members = [load_checkpoint(path) for path in named_models(given).paths]
    return {member.name: member.vocabulary.is_unknown for member in members}


def count(report: Report, nbest: NBest) -> None:
    """Add a list to the report."""
    report.sentences += 1
    report.without_candidates += not nbest.candidates
    report.candidates += len(nbest.candidates)
    report.duplicates += len(nbest.candidates) - len({one.tokens for one in nbest.candidates})
    report.repaired += sum(one.is_repaired for one in nbest.candidates)
    report.longest_list = max(report.longest_list, len(nbest.candidates))
    if nbest.candidates:
        words = len(nbest.candidates[0].words)
        report.words += words
        report.longest_sentence = max(report.longest_sentence, words)
    for one in nbest.rejected:
        report.rejected += 1
        report.rejected_by_code[one.code] = report.rejected_by_code.get(one.code, 0) + 1
        lines = report.rejected_lines.setdefault(one.code, [])
        if len(lines) < SHOWN_LINES:
            lines.append(f"{one.file}:{one.line}: {one.message}")
    scores = [one.score for one in nbest.candidates if one.score is not None]
    if scores:
        report.scored += len(scores)
        lowest, highest = report.lowest_score, report.highest_score
        report.lowest_score = min(scores) if lowest is None else min(lowest, *scores)
        report.highest_score = max(scores) if highest is None else max(highest, *scores)


def _format(report: Report) -> str:
    rows: list[tuple[str, Any]] = [
        *((one["name"], f"format {one['format']}") for one in report.files),
        ("sentences", report.sentences),
        ("  without a usable candidate", report.without_candidates),
        ("  words in the longest", report.longest_sentence),
        ("candidates", report.candidates),
        ("  in the longest list", report.longest_list),
        ("  repeating an earlier one", report.duplicates),
        ("  repaired", report.repaired),
        ("  with a score", report.scored),
    ]
    if report.lowest_score is not None and report.highest_score is not None:
        scores = f"{report.lowest_score:.2f} to {report.highest_score:.2f} nats"
        rows.append(("  scores", scores))
    for name, count in report.unknown_words.items():
        examples = ", ".join(report.frequent_unknown_words[name])
        share = 100 * count / max(1, report.words)
        rows.append((f"words unknown to {name}", f"{count} ({share:.1f} %): {examples}"))
    rows.append(("rejected", report.rejected))
    for code, count in sorted(report.rejected_by_code.items()):
        rows.append((f"  {code}", count))
        rows.extend(("", line) for line in report.rejected_lines[code])
        if count > SHOWN_LINES:
            rows.append(("", f"... and {count - SHOWN_LINES} more"))
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:{width}}{value}".rstrip() for name, value in rows)
