"""``rerank grep``: where a pattern matches in trees, and how probably."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from reranker.commands import tree_flags
from reranker.commands.arguments import add_table
from reranker.commands.progress import message
from reranker.errors import InputError
from reranker.files.opening import input_digest, refuse_second_stdin
from reranker.files.visible import counted
from reranker.plugins.grep.forms import Counts, LikelyMatches, Lines, Matrix, Objects, Spreadsheet
from reranker.plugins.grep.many import Search, read_patterns
from reranker.process.flags import weight
from reranker.trees.patterns.pattern import Pattern

EXAMPLES = """examples:
  rerank grep 'NP < (SBAR < WHNP)' essay.txt
  rerank grep 'VP < (NP $+ NP)' wsj/02/ --count
  rerank grep '/^NP/ !<< /^DT/' parses.txt.gz --at-least 0.9 --json > nominals.jsonl
  rerank grep 'S < (VP <1 VB)' corpus/*.txt --out imperatives.tsv --resume
  rerank grep 'SBAR > NP' essay.txt --csv > relatives.csv
  rerank grep --patterns patterns.tsv corpus/*.mrg --csv > counts.csv
  zcat trees.gz | rerank grep 'SBAR <1 (WHNP < /^(who|which)$/i)' -

Each match is a row: file:line, probability, the words before the match, the match, the words after
it, its tree, and name=TREE for each =name in the pattern. docs/grep.md explains the columns.

exit status: 0 everything was read, with matches or without; 1 some trees or sentences could not be
read; 2 not a pattern, or unusable files; 3 out of memory; 130 interrupted; 141 the reader of
standard output closed it"""

USAGE = "%(prog)s PATTERN FILE [FILE ...] [flags]"
GROUPS = tree_flags.groups(
    "pattern files --patterns --at-least --count --csv --json --as --out --resume"
)
GROUPS["input"] += " --language"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank grep`` to ``parser``."""
    parser.add_argument(
        "pattern",
        metavar="PATTERN",
        help="a pattern as in tgrep2 and tregex (docs/grep-language.md)",
    )
    tree_flags.add_arguments(parser)
    text = (
        "instead of PATTERN, a file with a pattern per line, name<TAB>pattern or the pattern "
        "alone; writes a table of how often each matches in each sentence"
    )
    parser.add_argument("--patterns", metavar="FILE", action=_WithoutPattern, help=text)
    text = "leave out matches that are less probable; 0: none (default: %(default)s)"
    parser.add_argument("--at-least", type=weight, default=0.5, metavar="P", help=text)
    add_table(parser, "match")
    text = (
        "write, for each file, the numbers of sentences, of matches, and of matches to expect "
        "(the sum of their probabilities)"
    )
    parser.add_argument("--count", action="store_true", help=text)


class _WithoutPattern(argparse.Action):
    """A flag that makes the pattern optional: with the flag, every name is a file."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        given: argparse.Namespace,
        value: str | Sequence[Any] | None,
        option: str | None = None,
    ) -> None:
        given.patterns = value
        for action in parser._actions:
            if action.dest == "pattern":
                action.metavar = "FILE"
            action.required = action.required and action.dest != "files"


def run(arguments: argparse.Namespace) -> int:
    """Write matches, or the counts of each file when it is finished; return the exit code."""
    if arguments.patterns and arguments.count:
        raise InputError("--count is for one pattern; --patterns counts in each sentence")
    if arguments.count and arguments.json:
        raise InputError("--count writes a table; it goes with --csv, not with --json")
    settings = {name: getattr(arguments, name) for name in ("at_least", "count", "json", "csv")}
    in_colour = arguments.out is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if arguments.patterns:
        arguments.files = [arguments.pattern, *(arguments.files or [])]
        refuse_second_stdin([arguments.patterns, *arguments.files])
        settings["pattern"] = input_digest(arguments.patterns)
        patterns = read_patterns(arguments.patterns)
    else:
        settings["pattern"] = arguments.pattern
        patterns = {"": Pattern(arguments.pattern)}
    least, has_commas = arguments.at_least, arguments.csv
    form: LikelyMatches
    if arguments.count:
        form = Counts(least, has_commas=has_commas)
    elif arguments.json:
        form = Objects(least)
    elif arguments.patterns:
        form = Matrix(least, patterns, has_commas=has_commas)
    elif has_commas:
        form = Spreadsheet(least, patterns[""].names)
    else:
        form = Lines(least, in_colour=in_colour)
    job = Search(patterns, settings, has_names=form.has_names)
    with contextlib.closing(tree_flags.open_files(arguments)) as files:
        if arguments.count and len(set(files.files)) < len(files.files):
            twice = next(file for file in files.files if files.files.count(file) > 1)
            raise InputError(f"{twice} is there twice; --count writes a row for each file")
        code = tree_flags.write(arguments, files, job, form)
    if form.left_out:
        are = "is" if form.left_out == 1 else "are"
        message(
            f"rerank: {counted(form.left_out, 'match', 'matches')} {are} less probable than "
            f"{least:g} and left out (--at-least 0 keeps all)"
        )
    return code
