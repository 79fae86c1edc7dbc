"""The flags of commands that read trees, n-best lists and text, such as `rerank grep`, and the way
from flags to answers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from reranker.commands import nbest_flags, parser_flags, text_flags
from reranker.commands.arguments import add_output, destination
from reranker.commands.progress import ProgressBar
from reranker.outputs.form import Form
from reranker.parsers.parser import CANDIDATES
from reranker.process.flags import number_from
from reranker.text.splitting import Reading, TextForm
from reranker.work import loop
from reranker.work.sinks import Destination, TextSink
from reranker.work.tree_files import TreeFiles, TreeJob, TreeSettings

_CHOICES: Mapping[Reading, str] = {
    "prose": "--as prose",
    "sentences": "--as sentences",
    "no speakers": "--no-speakers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, and the flags that say how to read and parse them."""
    add = parser.add_argument
    text = (
        "treebanks (also folders), parsers' output, n-best lists or text: plain, .gz or .zst; - "
        "reads standard input"
    )
    add("files", nargs="+", metavar="FILE", help=text)
    text = (
        "what the files have: trees, running text, the same with lines broken anywhere (prose), "
        "one sentence per line, or the same with a space between words (tokens) (default: "
        "detected for each file; n-best lists: --format)"
    )
    add(
        "--as",
        dest="form",
        choices=("auto", "trees", *get_args(TextForm)),
        default="auto",
        help=text,
    )
    text_flags.add_words(parser, "for text: ")
    text = (
        "make probabilities of trees proportional to exp(score / T) (default: 1 for n-best "
        "lists, the parser's own for text)"
    )
    add("--temperature", type=number_from(0.01), metavar="T", help=text)
    nbest_flags.add_reading_arguments(parser)
    parser_flags.add_choice(parser, longest=200)
    # Sums over the trees of a sentence need more of them than choosing the best one does.
    parser.set_defaults(candidates=CANDIDATES)
    add_output(parser)


def groups(everyday: str) -> dict[str, str]:
    """Return a command's groups of flags, given its most used flags."""
    others = "--words --speakers --format --tokens --repair --no-repair --beam"
    return {
        "everyday flags": everyday,
        "input": " ".join(flag for flag in others.split() if flag not in everyday.split()),
        "parser": "--parser --parser-command --parser-model --candidates --overparsing "
        "--temperature",
        "limits": "--longest --parser-seconds --jobs",
    }


def open_files(arguments: argparse.Namespace) -> TreeFiles:
    """Open the files as the flags say. Raises InputError."""
    settings = TreeSettings(
        arguments.form,
        nbest_flags.options(arguments),
        replace(text_flags.settings(arguments), choices=_CHOICES),
        parser_flags.choice(arguments),
        arguments.temperature,
    )
    return TreeFiles(arguments.files, settings)


def write(
    arguments: argparse.Namespace,
    files: TreeFiles,
    job: TreeJob[Any],
    form: Form[Any],
) -> int:
    """Do the job for every sentence of the files, write the answers in a form to standard output or
    to ``--out``, and return the exit code. Raises InputError for a file of another kind or one that
    cannot be read to its end, and if no sentence has a tree."""
    models = parser_flags.inputs(parser_flags.choice(arguments))
    return answer(files, job, form, destination(arguments, files.files, models))


def answer(files: TreeFiles, job: TreeJob[Any], form: Form[Any], out: Destination) -> int:
    """Do the job for every sentence of the files, write the answers in a form, and return the exit
    code. Raises InputError as ``write`` does."""
    counts = loop.run(files, job, TextSink(form, out), ProgressBar(files))
    return 1 if counts["rejected"] or files.faults else 0
