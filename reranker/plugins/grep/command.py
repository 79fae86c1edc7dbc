"""``rerank grep``: where a pattern matches in trees, and how probably."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from reranker.errors import InputError
from reranker.files.opening import input_digest
from reranker.files.visible import visible
from reranker.plugins.grep.many import counts, found_by_each, matrix, read_patterns
from reranker.plugins.grep.matches import Match, Words, matches
from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.pattern import Pattern
from reranker.plugins.grep.tree_files import TreeFiles, groups
from reranker.plugins.grep.tree_files import add_arguments as add_files
from reranker.process.flags import weight
from reranker.trees.tree import Tree

EXAMPLES = """examples:
  rerank grep 'NP < (SBAR < WHNP)' essay.txt
  rerank grep 'VP < (NP $+ NP)' wsj/02/ --count
  rerank grep '/^NP/ !<< /^DT/' parses.txt.gz --at-least 0.9 --json > nominals.jsonl
  rerank grep 'S < (VP <1 VB)' corpus/*.txt --out imperatives.tsv --resume
  rerank grep --patterns patterns.tsv corpus/*.mrg --csv > counts.csv
  zcat trees.gz | rerank grep 'SBAR <1 (WHNP < /^(who|which)$/i)' -

Each match is a line, with tabs between: place, probability, the sentence before the match, the
match, the sentence behind it, the tree of the match, and name=TREE for each =name in the pattern.
docs/grep.md has the language.

exit status: 0 everything was read, with matches or without; 1 some trees or sentences could not be
read; 2 not a pattern, or unusable files; 3 out of memory; 130 interrupted; 141 the reader of
standard output closed it"""

USAGE = "%(prog)s PATTERN FILE [FILE ...] [flags]"
GROUPS = groups("pattern files --patterns --as --at-least --count --json --out --resume --language")
GROUPS["output"] = "--csv"

_MATCH, _PLACE, _PLAIN = "\033[1;31m", "\033[35m", "\033[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank grep`` to ``parser``."""
    parser.add_argument("pattern", metavar="PATTERN", help="in the language of tgrep2 and tregex")
    add_files(parser)
    text = (
        "take the patterns of this file instead of PATTERN, a line for each, name<TAB>pattern or "
        "the pattern alone, and count the matches of each in each sentence: a table with tabs"
    )
    parser.add_argument("--patterns", metavar="FILE", action=_WithoutPattern, help=text)
    text = (
        "leave out less probable matches, where the trees of a sentence have probabilities "
        "(default: %(default)s)"
    )
    parser.add_argument("--at-least", type=weight, default=0.5, metavar="P", help=text)
    form = parser.add_mutually_exclusive_group()
    text = (
        "for each file: sentences, matches, and the number to expect, the sum of the probabilities "
        "of all matches"
    )
    form.add_argument("--count", action="store_true", help=text)
    form.add_argument("--json", action="store_true", help="one JSON object a match")
    form.add_argument("--csv", action="store_true", help="with --patterns: commas for tabs")


class _WithoutPattern(argparse.Action):
    """Makes the pattern optional: with this flag, every name is a file."""

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
    if arguments.patterns:
        return _many(arguments)
    if arguments.csv:
        raise InputError("--csv is for --patterns")
    pattern, least = Pattern(arguments.pattern), arguments.at_least
    in_colour = arguments.out is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def lines(parses: Parses) -> str:
        found = [each for each in matches(pattern, parses, names=True) if _is_likely(each, least)]
        words = Words.of(parses) if found else None
        if words is None:
            return ""
        if arguments.json:
            return "".join(_json(parses, words, match) for match in found)
        return "".join(_line(parses, words, match, in_colour, least) for match in found)

    def numbers(parses: Parses) -> tuple[str, int, float]:
        found = matches(pattern, parses)
        likely = sum(_is_likely(each, least) for each in found)
        expected = sum(1.0 if each.probability is None else each.probability for each in found)
        return parses.file, likely, expected

    with TreeFiles(arguments) as files:
        flags = ("pattern", "at_least", "count", "json")
        if arguments.count:
            return files.write(numbers, _count_table, flags)
        return files.write(lines, iter, flags, is_painted=in_colour and not arguments.json)


def _many(arguments: argparse.Namespace) -> int:
    """Write how often each of many patterns matches in each sentence, or all of their matches."""
    if arguments.count:
        raise InputError("--count is for one pattern; --patterns counts in each sentence")
    files = [arguments.pattern, *(arguments.files or [])]
    if files.count("-") and arguments.patterns == "-":
        raise InputError("standard input (-) can be read only once")
    patterns, least = read_patterns(arguments.patterns), arguments.at_least
    arguments.files, arguments.pattern = files, input_digest(arguments.patterns)

    def lines(parses: Parses) -> str:
        words = Words.of(parses)
        return "".join(
            _json(parses, words, match, name)
            for name, found in found_by_each(patterns, parses, names=True)
            for match in found
            if _is_likely(match, least)
        )

    with TreeFiles(arguments) as opened:
        flags = ("pattern", "at_least", "json", "csv")
        if arguments.json:
            return opened.write(lines, iter, flags)
        row = partial(counts, patterns, lambda match: _is_likely(match, least))
        table = partial(matrix, [*patterns], with_commas=arguments.csv)
        return opened.write(row, table, flags)


def _is_likely(match: Match, least: float) -> bool:
    return match.probability is None or match.probability >= least


def _count_table(counts: Iterator[tuple[str, int, float]]) -> Iterator[str]:
    yield "file\tsentences\tmatches\texpected\n"
    rows: list[tuple[int, int, float]] = []
    for file, group in itertools.groupby(counts, key=lambda each: each[0]):
        sentences = likely = 0
        expected = 0.0
        for _, likely_here, expected_here in group:
            sentences += 1
            likely += likely_here
            expected += expected_here
        rows.append((sentences, likely, expected))
        yield f"{file}\t{sentences}\t{likely}\t{expected:.2f}\n"
    if len(rows) > 1:
        sentences, likely, expected = map(sum, zip(*rows, strict=True))
        yield f"all\t{sentences}\t{likely}\t{expected:.2f}\n"


def _line(parses: Parses, words: Words, match: Match, in_colour: bool, least: float) -> str:
    before, inside, behind = (" ".join(part.split()) for part in words.cut(match))
    place, tree = f"{parses.file}:{parses.line}", _text(match)
    for name, nodes in match.named.items():
        likely = (_text(each) for each in nodes if _is_likely(each, least))
        tree += f"\t{name}={' '.join(likely)}"
    if in_colour:
        place, before, inside, behind, tree = map(visible, (place, before, inside, behind, tree))
        place, inside = f"{_PLACE}{place}{_PLAIN}", f"{_MATCH}{inside}{_PLAIN}"
    probability = "-" if match.probability is None else f"{match.probability:.2f}"
    return "\t".join((place, probability, before, inside, behind, tree)) + "\n"


def _rounded(match: Match) -> float | None:
    return None if match.probability is None else round(match.probability, 4)


def _text(match: Match) -> str:
    return match.tree.to_string() if isinstance(match.tree, Tree) else match.tree


def _json(parses: Parses, words: Words, match: Match, pattern: str | None = None) -> str:
    start, end = words.span(match)
    first = words.first
    fields: dict[str, Any] = {} if pattern is None else {"pattern": pattern}
    fields |= {
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
        "probability": _rounded(match),
    }
    if match.named:
        fields["named"] = {
            name: [
                {
                    "start": each.start,
                    "end": each.end,
                    "label": each.label,
                    "tree": _text(each),
                    "probability": _rounded(each),
                }
                for each in nodes
            ]
            for name, nodes in match.named.items()
        }
    return json.dumps(fields, ensure_ascii=False) + "\n"
