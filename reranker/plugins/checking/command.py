"""``rerank check``: the brackets of a treebank that are most likely wrong, and why."""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reranker.commands import parser_flags
from reranker.commands.arguments import add_output
from reranker.commands.progress import message
from reranker.errors import InputError
from reranker.files.output import open_whole, output_paths
from reranker.plugins.checking.evidence import Evidence
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.page import DRAWN, Row, page
from reranker.plugins.checking.suspicion import Place, places
from reranker.plugins.grep import tree_files
from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.tree_files import TreeFiles
from reranker.process.flags import positive
from reranker.trees.linearize import cleaned

EXAMPLES = """examples:
  rerank check treebank/ > suspicious.tsv
  rerank check gum/*.mrg --most 200 --html suspicious.html
  rerank check icon/ --language id --most 5000 --out suspicious.tsv --resume

A row is a place in a sentence: what the treebank has there, how probable that is, and what the
parser expects. docs/check.md explains the columns.

exit status: 0 success; 1 some trees could not be read; 2 unusable files or flags; 3 out of memory;
130 interrupted; 141 the reader of standard output closed it"""

_COLUMNS = ("file", "line", *Place._fields)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank check`` to ``parser``."""
    others = argparse.ArgumentParser()  # what TreeFiles reads besides, with its defaults
    tree_files.add_arguments(others)
    parser.set_defaults(**{**vars(others.parse_args(["-"])), "form": "trees"})
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a treebank: files or folders; .gz and .zst, too")
    text = "how many places to write, the most suspicious ones (default: %(default)s)"
    add("--most", type=positive, default=1_000, metavar="N", help=text)
    text = f"also write both trees of the first {DRAWN} sentences, drawn side by side"
    add("--html", type=Path, metavar="FILE", help=text)
    text = "a span model, or the name of an installed ensemble (default: the installed one)"
    add("--parser-model", action="append", metavar="MODEL", help=text)
    text = "of the treebank, such as id or zh: chooses the model (default: en)"
    add("--language", metavar="CODE", help=text)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the most suspicious places; return the exit code."""
    with TreeFiles(arguments) as files:
        for name in files.files:
            if not Path(name).is_file():
                raise InputError(f"{name}: a treebank is read three times, so it must be a file")
        html, _ = output_paths([arguments.html, arguments.out], files.inputs)
        choice = parser_flags.choice(arguments)
        evidence = Evidence(choice.models.get("chart", ""), arguments.language or "")
        index = Index.of(files.files)

        def read(parses: Parses) -> list[Any]:
            tree = cleaned(parses.trees[0])
            if warning := evidence.language.add(parses.file, tree.words()):
                message(f"rerank: {warning}")
            found, expected = places(parses.trees[0], evidence, index)
            return [parses.file, parses.line, found, tree.to_string(), expected.tree]

        def table(said: Iterator[list[Any]]) -> Iterator[str]:
            rows = heapq.nlargest(arguments.most, _rows(said), key=lambda row: row.place.suspicion)
            if warning := evidence.language.end():
                message(f"rerank: {warning}")
            yield "\t".join(_COLUMNS) + "\n"
            for row in rows:
                yield "\t".join([row.file, str(row.line), *map(_cell, row.place)]) + "\n"
            if html is not None:
                with open_whole(html) as out:
                    out.write("".join(page(rows)))

        return files.write(read, table, ("most",))


def _rows(said: Iterator[list[Any]]) -> Iterator[Row]:
    for file, line, found, gold, expected in said:
        for place in map(Place._make, found):
            yield Row(file, line, place, gold, expected)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
