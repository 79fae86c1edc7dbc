"""``rerank measure``: how complex the syntax of texts is, and how sure that is."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Sequence
from typing import Any

from reranker.commands import tree_flags
from reranker.commands.arguments import add_table
from reranker.errors import InputError
from reranker.files.table import delimited
from reranker.languages import ENGLISH
from reranker.outputs.form import Form
from reranker.plugins.measure.measurement import Measure
from reranker.plugins.measure.measures import Counted, Difference, Row, Totals, differences

EXAMPLES = """examples:
  rerank measure essay.txt
  rerank measure before.txt after.txt
  rerank measure essays/*.txt --csv > essays.csv
  rerank measure essays/*.txt --by sentence --out essays.tsv --resume
  rerank measure trees.mrg.gz parses.txt --json

For each measure: its value in the most probable trees, its expected value over all trees, and how
much this varies with the parses and with the sentences. docs/complexity.md defines the measures.

exit status: 0 success; 1 some trees or sentences could not be read; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = tree_flags.groups("files --as --by --csv --json --out --resume --language")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank measure`` to ``parser``."""
    tree_flags.add_arguments(parser)
    text = (
        "write a row per text, comparing two texts with each other, or per sentence (default: "
        "%(default)s)"
    )
    parser.add_argument("--by", choices=("text", "sentence"), default="text", help=text)
    add_table(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write measures, those of a text when it is finished; return the exit code."""
    if (arguments.language or ENGLISH) != ENGLISH:
        raise InputError(
            f"--language {arguments.language}: the measures are defined by the labels of English "
            "treebanks"
        )
    with contextlib.closing(tree_flags.open_files(arguments)) as files:
        rows = _Rows(has_json=arguments.json, has_commas=arguments.csv)
        form: Form[Counted]
        if arguments.by == "sentence":
            form = _Sentences(rows)
        else:
            form = _Comparison(rows) if len(files.files) == 2 else _Texts(rows)
        return tree_flags.write(arguments, files, Measure(), form)


class _Rows:
    """Rows as JSON, or as a table with a heading before the first row."""

    def __init__(self, *, has_json: bool, has_commas: bool) -> None:
        self._has_json, self._has_commas = has_json, has_commas
        self._has_heading = has_json

    def line(self, row: Sequence[Any], heading: Sequence[str]) -> str:
        """Return a row with its line break."""
        digits = 6 if self._has_json else 3
        values = [round(value, digits) if isinstance(value, float) else value for value in row]
        if self._has_json:
            names = Difference._fields if isinstance(row, Difference) else heading
            return json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
        rows = [values] if self._has_heading else [heading, values]
        self._has_heading = True
        return delimited(rows, with_commas=self._has_commas)


class _Table(Form[Counted]):
    """A table of measures; raises InputError at its end if there are none."""

    is_table = True

    def __init__(self, rows: _Rows) -> None:
        self._rows = rows
        self._files: dict[str, Totals] = {}
        self._file: str | None = None

    def plain(self, answer: Counted) -> tuple[Any, ...]:
        """Return the counts of a sentence."""
        return answer.plain()

    def line(self, answer: Sequence[Any], number: int) -> str:
        """Add a sentence, and return the rows that are finished."""
        counted = Counted.from_plain(*answer)
        finished = ""
        if counted.file != self._file:
            finished = self.text()
            self._file, self._files[counted.file] = counted.file, Totals()
        self._files[counted.file].add(counted)
        return finished + self.sentence(counted)

    def end(self) -> str:
        """Return the rows of the last text."""
        if self._file is None:
            raise InputError("no sentence could be measured")
        return self.text()

    def text(self) -> str:
        """Return the rows of the text that ends here."""
        return ""

    def sentence(self, counted: Counted) -> str:
        """Return the rows of a sentence."""
        return ""


class _Sentences(_Table):
    def sentence(self, counted: Counted) -> str:
        heading = ("file", "line", *Row._fields[:4])
        rows = ((counted.file, counted.line, *row[:4]) for row in counted.rows())
        return "".join(self._rows.line(row, heading) for row in rows)


class _Texts(_Table):
    def text(self) -> str:
        if self._file is None:
            return ""
        heading, totals = ("file", *Row._fields), self._files[self._file]
        return "".join(self._rows.line((self._file, *row), heading) for row in totals.rows())


class _Comparison(_Table):
    def end(self) -> str:
        super().end()
        if len(self._files) < 2:
            raise InputError(f"nothing to compare with: all measured is {self._file}")
        heading = ("measure", *self._files, *Difference._fields[3:])
        rows = differences(*self._files.values())
        return "".join(self._rows.line(row, heading) for row in rows)
