"""``rerank grep``: where a pattern matches in trees, and how probably."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator

from reranker.commands.arguments import weight
from reranker.commands.tree_files import TreeFiles
from reranker.commands.tree_files import add_arguments as add_files
from reranker.errors import TreeError
from reranker.files.output import Writer, open_whole, output_path
from reranker.search.matches import Match, Words, matches
from reranker.search.parses import Parses
from reranker.search.pattern import Pattern
from reranker.trees.tree import Tree

EXAMPLES = """examples:
  rerank grep 'NP < (SBAR < WHNP)' essay.txt
  rerank grep 'VP < (NP $+ NP)' wsj/02/ --count
  rerank grep '/^NP/ !<< /^DT/' parses.txt.gz --at-least 0.9 --json > nominals.jsonl
  zcat trees.gz | rerank grep 'SBAR <1 (WHNP < /^(who|which)$/i)' -

Each match is a line, with tabs between: place, probability, the sentence before the match, the
match, the sentence behind it, and the tree of the match. docs/grep.md has the language.

exit status: 0 everything was read, with matches or without; 1 some trees or sentences could not be
read; 2 not a pattern, or unusable files; 3 out of memory; 130 interrupted; 141 the reader of
standard output closed it"""

_MATCH, _PLACE, _PLAIN = "\033[1;31m", "\033[35m", "\033[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank grep`` to ``parser``."""
    parser.add_argument("pattern", metavar="PATTERN", help="in the language of tgrep2 and tregex")
    add_files(parser)
    parser.add_argument(
        "--at-least",
        type=weight,
        default=0.5,
        metavar="P",
        help="leave out less probable matches, where the trees of a sentence have probabilities "
        "(default: %(default)s)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--count",
        action="store_true",
        help="for each file: sentences, matches, and the number to expect, the sum of the "
        "probabilities of all matches",
    )
    form.add_argument("--json", action="store_true", help="one JSON object a match")


def run(arguments: argparse.Namespace) -> int:
    """Print matches, or the counts of each file when it is finished; returns the exit code."""
    pattern = Pattern(arguments.pattern)
    with TreeFiles(arguments) as files:
        output_path(None, files.inputs)
        with open_whole(None) as out:
            found = _matches(pattern, files)
            if arguments.count:
                _write_counts(out, found, arguments.at_least)
            else:
                for parses, each in found:
                    _write(out, parses, _likely(each, arguments.at_least), arguments.json)
        return 1 if files.rejected else 0


Found = Iterator[tuple[Parses, list[Match]]]


def _matches(pattern: Pattern, files: TreeFiles) -> Found:
    for parses in files:
        try:
            yield parses, matches(pattern, parses)
        except TreeError as error:
            files.reject(parses, f"not searched: {error}")


def _likely(found: list[Match], least: float) -> list[Match]:
    return [each for each in found if each.probability is None or each.probability >= least]


def _write_counts(out: Writer, found: Found, least: float) -> None:
    out.write("file\tsentences\tmatches\texpected\n")
    rows: list[tuple[int, int, float]] = []
    for file, group in itertools.groupby(found, key=lambda each: each[0].file):
        sentences = likely = 0
        expected = 0.0
        for _, each in group:
            sentences += 1
            likely += len(_likely(each, least))
            expected += sum(1.0 if p is None else p for p in (match.probability for match in each))
        rows.append((sentences, likely, expected))
        out.write(f"{file}\t{sentences}\t{likely}\t{expected:.2f}\n")
    if len(rows) > 1:
        sentences, likely, expected = map(sum, zip(*rows, strict=True))
        out.write(f"all\t{sentences}\t{likely}\t{expected:.2f}\n")


def _write(out: Writer, parses: Parses, found: list[Match], as_json: bool) -> None:
    if not found:
        return
    words = Words.of(parses)
    for match in found:
        out.write(_json(parses, words, match) if as_json else _line(parses, words, match))


def _line(parses: Parses, words: Words, match: Match) -> str:
    before, inside, behind = (" ".join(part.split()) for part in words.cut(match))
    place = f"{parses.file}:{parses.line}"
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        place, inside = f"{_PLACE}{place}{_PLAIN}", f"{_MATCH}{inside}{_PLAIN}"
    probability = "-" if match.probability is None else f"{match.probability:.2f}"
    return "\t".join((place, probability, before, inside, behind, _text(match))) + "\n"


def _text(match: Match) -> str:
    return match.tree.to_string() if isinstance(match.tree, Tree) else match.tree


def _json(parses: Parses, words: Words, match: Match) -> str:
    start, end = words.span(match)
    first = words.first
    fields = {
        "file": parses.file,
        "line": parses.line,
        "id": parses.id or None,
        "sentence": words.text,
        "match": words.text[start:end],
        "start": match.start,
        "end": match.end,
        "characters": None if first is None else [first + start, first + end],
        "label": match.label,
        "tree": _text(match),
        "probability": None if match.probability is None else round(match.probability, 4),
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"
