"""``rerank validate``: a report on an n-best file, before anything is scored."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands import nbest_flags
from reranker.commands.progress import loading
from reranker.files.output import open_whole
from reranker.files.visible import counted
from reranker.nbest.report import Report
from reranker.work.nbest_files import NBestLists

EXAMPLES = """examples:
  rerank validate parses.txt.gz
  rerank validate samples.rnng --tokens sentences.txt --json > report.json
  rerank validate parses.txt --models ckpt/*.pt

exit status: 0 success, 1 some candidates were rejected, 2 not an n-best file, 3 out of memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank validate`` to ``parser``."""
    add = parser.add_argument
    nbest_flags.add_arguments(parser, required=False)
    text = "count the words that these checkpoints (files, a folder, an ensemble.toml) do not know"
    add("--models", nargs="+", metavar="FILE", help=text)
    add("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    is_unknown: dict[str, Callable[[str], bool]] = {}
    if arguments.models:
        paths = named_models(arguments.models).paths
        with loading(counted(len(paths), "model")):
            from reranker.checkpoints.members import load_member

            members = map(load_member, paths)
            is_unknown = {member.name: member.vocabulary.is_unknown for member in members}
    report = Report()
    lists = NBestLists(arguments.nbest, nbest_flags.options(arguments), report.files.append)
    report.count(lists, is_unknown)
    text = json.dumps(asdict(report), ensure_ascii=False, indent=2) if arguments.json else None
    with open_whole(None) as out:
        out.write((report.format() if text is None else text) + "\n")
    return 1 if report.rejected else 0
