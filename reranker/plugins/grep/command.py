"""``rerank grep``: where a pattern matches in trees, and how probably."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from reranker.commands import tree_flags
from reranker.errors import InputError
from reranker.files.opening import input_digest, refuse_second_stdin
from reranker.files.visible import visible
from reranker.outputs.form import Form, Rows
from reranker.plugins.grep.many import Found, Matrix, Search, read_patterns
from reranker.process.flags import weight
from reranker.trees.patterns.pattern import Pattern
from reranker.trees.tree import Tree
from reranker.work.matches import Match, Words
from reranker.work.parses import Parses

EXAMPLES = """examples:
  rerank grep 'NP < (SBAR < WHNP)' essay.txt
  rerank grep 'VP < (NP $+ NP)' wsj/02/ --count
  rerank grep '/^NP/ !<< /^DT/' parses.txt.gz --at-least 0.9 --json > nominals.jsonl
  rerank grep 'S < (VP <1 VB)' corpus/*.txt --out imperatives.tsv --resume
  rerank grep --patterns patterns.tsv corpus/*.mrg --csv > counts.csv
  zcat trees.gz | rerank grep 'SBAR <1 (WHNP < /^(who|which)$/i)' -

Each match is a row: place, probability, the words before the match, the match, the words after it,
its tree, and name=TREE for each =name in the pattern (docs/grep.md).

exit status: 0 everything was read, with matches or without; 1 some trees or sentences could not be
read; 2 not a pattern, or unusable files; 3 out of memory; 130 interrupted; 141 the reader of
standard output closed it"""

USAGE = "%(prog)s PATTERN FILE [FILE ...] [flags]"
GROUPS = tree_flags.groups(
    "pattern files --patterns --as --at-least --count --json --out --resume --language"
)
GROUPS["output"] = "--csv"

_MATCH, _PLACE, _PLAIN = "\033[1;31m", "\033[35m", "\033[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank grep`` to ``parser``."""
    parser.add_argument(
        "pattern",
        metavar="PATTERN",
        help=("a pattern as in tgrep2 and tregex (docs/grep-language.md)"),
    )
    tree_flags.add_arguments(parser)
    text = (
        "instead of PATTERN, a file with a pattern per line, name<TAB>pattern or the pattern "
        "alone; writes a table of how often each matches in each sentence"
    )
    parser.add_argument("--patterns", metavar="FILE", action=_WithoutPattern, help=text)
    text = "leave out matches that are less probable; 0: none (default: %(default)s)"
    parser.add_argument("--at-least", type=weight, default=0.5, metavar="P", help=text)
    form = parser.add_mutually_exclusive_group()
    text = (
        "write, for each file, the numbers of sentences, of matches, and of matches to expect "
        "(the sum of their probabilities)"
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
    if arguments.patterns and arguments.count:
        raise InputError("--count is for one pattern; --patterns counts in each sentence")
    if arguments.csv and not arguments.patterns:
        raise InputError("--csv is for --patterns")
    settings = {name: getattr(arguments, name) for name in ("at_least", "count", "json", "csv")}
    in_colour = arguments.out is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    likely = partial(_is_likely, least=arguments.at_least)
    if arguments.patterns:
        arguments.files = [arguments.pattern, *(arguments.files or [])]
        refuse_second_stdin([arguments.patterns, *arguments.files])
        settings["pattern"] = input_digest(arguments.patterns)
        patterns = read_patterns(arguments.patterns)
    else:
        settings["pattern"] = arguments.pattern
        patterns = {"": Pattern(arguments.pattern)}
    form: Form[Found]
    if arguments.count:
        form = _Counts(likely)
    elif arguments.json:
        form = _Json(likely)
    elif arguments.patterns:
        form = Matrix(patterns, likely, has_commas=arguments.csv)
    else:
        form = _Lines(likely, in_colour=in_colour)
    job = Search(patterns, settings, has_names=isinstance(form, _Json | _Lines))
    with contextlib.closing(tree_flags.open_files(arguments)) as files:
        return tree_flags.write(arguments, files, job, form)


def _is_likely(match: Match, least: float) -> bool:
    return match.probability is None or match.probability >= least


class _Counts(Form[Found]):
    """The numbers of sentences, matches and expected matches of each file."""

    is_table = True

    def __init__(self, is_likely: Callable[[Match], bool]) -> None:
        self._is_likely = is_likely
        self._file = ""
        self._rows: list[list[float]] = []  # sentences, matches and expected ones of each file

    def begin(self) -> str:
        return "file\tsentences\tmatches\texpected\n"

    def plain(self, answer: Found) -> tuple[str, int, float]:
        """Return the numbers of a sentence."""
        ((_, found),) = answer.matches
        expected = sum(1.0 if each.probability is None else each.probability for each in found)
        return answer.parses.file, sum(map(self._is_likely, found)), expected

    def line(self, answer: tuple[str, int, float], number: int) -> str:
        """Add a sentence, and return the row of the file before its own."""
        file, likely, expected = answer
        finished = ""
        if not self._rows or file != self._file:
            finished = self._row()
            self._file = file
            self._rows.append([0, 0, 0.0])
        last = self._rows[-1]
        last[:] = last[0] + 1, last[1] + likely, last[2] + expected
        return finished

    def end(self) -> str:
        """Return the row of the last file, and the sums of several."""
        last = self._row()
        if len(self._rows) > 1:
            sentences, likely, expected = map(sum, zip(*self._rows, strict=True))
            last += f"all\t{sentences}\t{likely}\t{expected:.2f}\n"
        return last

    def _row(self) -> str:
        if not self._rows:
            return ""
        sentences, likely, expected = self._rows[-1]
        return f"{self._file}\t{sentences}\t{likely}\t{expected:.2f}\n"


class _Lines(Rows[Found]):
    """A line for each match."""

    def __init__(self, is_likely: Callable[[Match], bool], *, in_colour: bool) -> None:
        self._is_likely, self.is_painted = is_likely, in_colour

    def plain(self, answer: Found) -> str:
        """Return the lines of a sentence."""
        ((_, found),) = answer.matches
        likely = [*filter(self._is_likely, found)]
        words = Words.of(answer.parses) if likely else None
        return "".join(self._line(answer.parses, words, each) for each in likely if words)

    def _line(self, parses: Parses, words: Words, match: Match) -> str:
        before, inside, behind = (" ".join(part.split()) for part in words.cut(match))
        place, tree = f"{parses.file}:{parses.line}", _text(match)
        for name, nodes in match.named.items():
            likely = map(_text, filter(self._is_likely, nodes))
            tree += f"\t{name}={' '.join(likely)}"
        if self.is_painted:
            place, before, inside, behind, tree = map(
                visible, (place, before, inside, behind, tree)
            )
            place, inside = f"{_PLACE}{place}{_PLAIN}", f"{_MATCH}{inside}{_PLAIN}"
        probability = "-" if match.probability is None else f"{match.probability:.2f}"
        return "\t".join((place, probability, before, inside, behind, tree)) + "\n"


class _Json(Rows[Found]):
    """An object for each match."""

    def __init__(self, is_likely: Callable[[Match], bool]) -> None:
        self._is_likely = is_likely

    def plain(self, answer: Found) -> str:
        """Return the lines of a sentence."""
        found = [
            (name, match)
            for name, each in answer.matches
            for match in filter(self._is_likely, each)
        ]
        words = Words.of(answer.parses) if found else None
        return "".join(_object(answer.parses, words, each, name) for name, each in found if words)


def _rounded(match: Match) -> float | None:
    return None if match.probability is None else round(match.probability, 4)


def _text(match: Match) -> str:
    return match.tree.to_string() if isinstance(match.tree, Tree) else match.tree


def _object(parses: Parses, words: Words, match: Match, pattern: str) -> str:
    start, end = words.span(match)
    first = words.first
    fields: dict[str, Any] = {"pattern": pattern} if pattern else {}
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
