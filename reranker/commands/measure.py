"""``rerank measure``: how complex the syntax of texts is, and how sure that is."""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from reranker.commands.tree_files import TreeFiles
from reranker.commands.tree_files import add_arguments as add_files
from reranker.complexity.measures import Counted, Difference, Row, Totals, differences
from reranker.errors import InputError, TreeError
from reranker.files.output import Writer, open_whole, output_path

EXAMPLES = """examples:
  rerank measure essay.txt
  rerank measure before.txt after.txt
  rerank measure essays/*.txt --csv > essays.csv
  rerank measure essay.txt --by sentence
  rerank measure trees.mrg.gz parses.txt --json

Of each measure: its value in the most probable trees, what is expected over all trees, and the
spread of that over parses and over sentences. Two texts are compared. docs/complexity.md has the
definitions.

exit status: 0 success; 1 some trees or sentences could not be read; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank measure`` to ``parser``."""
    add_files(parser)
    parser.add_argument(
        "--by",
        choices=("text", "sentence"),
        default="text",
        help="what a row is of (default: %(default)s; two texts are compared)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="commas between columns, not tabs")
    form.add_argument("--json", action="store_true", help="one JSON object a row")


def run(arguments: argparse.Namespace) -> int:
    """Print measures, those of a text when it is finished; returns the exit code."""
    with TreeFiles(arguments) as files:
        output_path(None, files.inputs)
        is_compared = arguments.by == "text" and len(files.files) == 2
        texts: dict[str, Totals] = {}
        with open_whole(None) as out:
            table = _Table(out, arguments)
            for file, sentences in itertools.groupby(_counted(files), key=lambda each: each.file):
                texts[file] = totals = Totals()
                for counted in sentences:
                    totals.add(counted)
                    if arguments.by == "sentence":
                        for row in counted.rows():
                            table.write((file, counted.line, *row[:4]), _SENTENCE)
                if arguments.by == "text" and not is_compared:
                    for row in totals.rows():
                        table.write((file, *row), _TEXT)
            if not texts:
                raise InputError("no sentence could be measured")
            if is_compared:
                if len(texts) < 2:
                    raise InputError(f"nothing to compare with: all measured is {file}")
                for difference in differences(*texts.values()):
                    table.write(difference, ("measure", *texts, *Difference._fields[3:]))
        return 1 if files.rejected else 0


_SENTENCE = ("file", "line", *Row._fields[:4])
_TEXT = ("file", *Row._fields)


def _counted(files: TreeFiles) -> Iterator[Counted]:
    for parses in files:
        try:
            yield Counted.of(parses)
        except TreeError as error:
            files.reject(parses, f"not measured: {error}")


class _Table:
    """Writes rows, and the names of the columns before the first."""

    def __init__(self, out: Writer, arguments: argparse.Namespace) -> None:
        self._out, self._as_json = out, arguments.json
        self._line = io.StringIO()
        self._csv = csv.writer(
            self._line, "excel" if arguments.csv else "excel-tab", lineterminator="\n"
        )
        self._has_heading = arguments.json

    def write(self, row: Sequence[Any], heading: Sequence[str]) -> None:
        digits = 6 if self._as_json else 3
        values = [round(value, digits) if isinstance(value, float) else value for value in row]
        if self._as_json:
            names = Difference._fields if isinstance(row, Difference) else heading
            fields = dict(zip(names, values, strict=True))
            self._out.write(json.dumps(fields, ensure_ascii=False) + "\n")
            return
        if not self._has_heading:
            self._csv.writerow(heading)
            self._has_heading = True
        self._csv.writerow(values)
        self._out.write(self._line.getvalue())
        self._line.seek(0)
        self._line.truncate()
