"""``rerank check``: the brackets of a treebank that are most likely wrong, and why."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reranker.commands import tree_flags
from reranker.commands.arguments import add_output, add_table, destination
from reranker.files.output import files_of, open_whole, output_path
from reranker.files.table import delimited
from reranker.outputs.form import Form
from reranker.plugins.checking.judging import Check, Judged, MostSuspicious, open_treebank
from reranker.plugins.checking.page import DRAWN, Row, page
from reranker.plugins.checking.suspicion import Place
from reranker.process.flags import positive

EXAMPLES = """examples:
  rerank check treebank/ > suspicious.tsv
  rerank check gum/*.mrg --most 200 --csv --html suspicious.html > suspicious.csv
  rerank check icon/ --language id --most 5000 --out suspicious.tsv --resume

Each row has the words of a bracket, its label in the treebank with its probability, and the label
that the parser expects. docs/check.md explains the columns.

exit status: 0 success; 1 some trees could not be read; 2 unusable files or flags; 3 out of memory;
130 interrupted; 141 the reader of standard output closed it"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank check`` to ``parser``."""
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help=("files or folders of a treebank: plain, .gz or .zst"),
    )
    text = "number of most suspicious brackets to write (default: %(default)s)"
    add("--most", type=positive, default=1_000, metavar="N", help=text)
    text = f"also draw both trees of the first {DRAWN} sentences, side by side, in FILE"
    add("--html", type=Path, metavar="FILE", help=text)
    text = "a span model, or the name of an installed ensemble (default: the installed one)"
    add("--parser-model", metavar="MODEL", default="", help=text)
    text = "language of the treebank, such as id or zh, which chooses the model (default: en)"
    add("--language", metavar="CODE", default="", help=text)
    add_output(parser)
    add_table(parser, "bracket")


def run(arguments: argparse.Namespace) -> int:
    """Write the most suspicious places; return the exit code."""
    with contextlib.closing(open_treebank(arguments.files)) as files:
        model = arguments.parser_model
        models = files_of([model])
        html = output_path(arguments.html, [*files.files, *models])
        out = destination(arguments, files.files, models, [html])
        job = Check(files, model, arguments.language, arguments.most)
        form = _Table(arguments.most, has_commas=arguments.csv, has_json=arguments.json)
        code = tree_flags.answer(files, job, form, out)
        if html is not None:
            with open_whole(html) as page_file:
                rows = (
                    Row(sentence.file, sentence.line, place, sentence.gold, sentence.expected)
                    for place, sentence in form.kept
                )
                page_file.write("".join(page([*rows])))
        return code


class _Table(Form[Judged]):
    """A row for each of the most suspicious places."""

    is_table = True

    def __init__(self, most: int, *, has_commas: bool, has_json: bool) -> None:
        self.kept = MostSuspicious(most)
        self._has_commas, self._has_json = has_commas, has_json

    def line(self, answer: Sequence[Any], number: int) -> str:
        """Add a sentence; nothing is written before the end."""
        file, line, places, gold, expected = answer
        self.kept.add(Judged(file, line, [*map(Place._make, places)], gold, expected))
        return ""

    def end(self) -> str:
        """Return a heading and the rows."""
        columns = ("file", "line", *Place._fields)
        kept = ((sentence.file, sentence.line, *place) for place, sentence in self.kept)
        if self._has_json:
            objects = (dict(zip(columns, row, strict=True)) for row in kept)
            return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)
        rows = (map(_cell, row) for row in kept)
        return delimited([columns, *rows], with_commas=self._has_commas)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
