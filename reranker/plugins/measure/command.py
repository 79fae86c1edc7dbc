"""``rerank measure``: how complex the syntax of texts is, and how sure that is."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from reranker.errors import InputError
from reranker.files.table import delimited
from reranker.languages import ENGLISH
from reranker.plugins.grep.tree_files import TreeFiles, groups
from reranker.plugins.grep.tree_files import add_arguments as add_files
from reranker.plugins.measure.measures import Counted, Difference, Row, Totals, differences

EXAMPLES = """examples:
  rerank measure essay.txt
  rerank measure before.txt after.txt
  rerank measure essays/*.txt --csv > essays.csv
  rerank measure essays/*.txt --by sentence --out essays.tsv --resume
  rerank measure trees.mrg.gz parses.txt --json

Of each measure: its value in the most probable trees, what is expected over all trees, and the
spread of that over parses and over sentences. Two texts are compared. docs/complexity.md has the
definitions.

exit status: 0 success; 1 some trees or sentences could not be read; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = groups("files --as --by --csv --json --out --resume --language")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank measure`` to ``parser``."""
    add_files(parser)
    text = "what a row is of (default: %(default)s; two texts are compared)"
    parser.add_argument("--by", choices=("text", "sentence"), default="text", help=text)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="commas between columns, not tabs")
    form.add_argument("--json", action="store_true", help="one JSON object a row")


def run(arguments: argparse.Namespace) -> int:
    """Write measures, those of a text when it is finished; return the exit code."""
    if (arguments.language or ENGLISH) != ENGLISH:
        raise InputError(
            f"--language {arguments.language}: the measures are defined by the labels of English "
            "treebanks"
        )
    with TreeFiles(arguments) as files:
        is_compared = arguments.by == "text" and len(files.files) == 2
        form = _Form(arguments)

        def table(said: Iterator[list[Any]]) -> Iterator[str]:
            texts: dict[str, Totals] = {}
            sentences = itertools.starmap(Counted.from_plain, said)
            for file, group in itertools.groupby(sentences, key=lambda each: each.file):
                texts[file] = totals = Totals()
                for counted in group:
                    totals.add(counted)
                    if arguments.by == "sentence":
                        for row in counted.rows():
                            yield form.line((file, counted.line, *row[:4]), _SENTENCE)
                if arguments.by == "text" and not is_compared:
                    for row in totals.rows():
                        yield form.line((file, *row), _TEXT)
            if not texts:
                raise InputError("no sentence could be measured")
            if is_compared:
                if len(texts) < 2:
                    raise InputError(f"nothing to compare with: all measured is {file}")
                for difference in differences(*texts.values()):
                    yield form.line(difference, ("measure", *texts, *Difference._fields[3:]))

        return files.write(lambda parses: Counted.of(parses).plain(), table, ("by", "csv", "json"))


_SENTENCE = ("file", "line", *Row._fields[:4])
_TEXT = ("file", *Row._fields)


class _Form:
    """A way to write rows, and the names of the columns before the first."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._as_json, self._with_commas = arguments.json, arguments.csv
        self._has_heading = arguments.json

    def line(self, row: Sequence[Any], heading: Sequence[str]) -> str:
        """Return a row with its line break."""
        digits = 6 if self._as_json else 3
        values = [round(value, digits) if isinstance(value, float) else value for value in row]
        if self._as_json:
            names = Difference._fields if isinstance(row, Difference) else heading
            return json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
        rows = [values] if self._has_heading else [heading, values]
        self._has_heading = True
        return delimited(rows, with_commas=self._with_commas)
