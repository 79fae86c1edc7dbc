"""``rerank check``: the brackets of a treebank that are most likely wrong, and why."""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from reranker.commands import parser_flags
from reranker.commands.arguments import add_output
from reranker.errors import InputError
from reranker.files.output import open_whole, output_paths
from reranker.plugins.checking.evidence import Evidence
from reranker.plugins.checking.index import Index
from reranker.plugins.checking.suspicion import Place, places
from reranker.plugins.grep import tree_files
from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.tree_files import TreeFiles
from reranker.process.flags import positive
from reranker.trees.constituents import brackets
from reranker.trees.linearize import cleaned
from reranker.trees.marks import Mark, MarkedTree
from reranker.trees.svg import svg
from reranker.trees.tree import Tree

EXAMPLES = """examples:
  rerank check treebank/ > suspicious.tsv
  rerank check gum/*.mrg --most 200 --html suspicious.html
  rerank check icon/ --language id --most 5000 --out suspicious.tsv --resume

A row is a place in a sentence: what the treebank has there, how probable that is, and what the
parser expects. docs/check.md explains the columns.

exit status: 0 success; 1 some trees could not be read; 2 unusable files or flags; 3 out of memory;
130 interrupted; 141 the reader of standard output closed it"""

_COLUMNS = ("file", "line", *Place._fields)
_DRAWN = 100  # sentences in --html

Row = tuple[float, int, str, int, Place, str, str]
"""Suspicion, the negative number of the place, file, line, the place, and both trees."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank check`` to ``parser``."""
    others = argparse.ArgumentParser()  # what TreeFiles reads besides, with its defaults
    tree_files.add_arguments(others)
    parser.set_defaults(**{**vars(others.parse_args(["-"])), "form": "trees"})
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a treebank: files or folders; .gz and .zst, too")
    text = "how many places to write, the most suspicious ones (default: %(default)s)"
    add("--most", type=positive, default=1_000, metavar="N", help=text)
    text = f"also write both trees of the first {_DRAWN} sentences, drawn side by side"
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
            found, expected = places(parses.trees[0], evidence, index)
            tree = cleaned(parses.trees[0]).to_string()
            return [parses.file, parses.line, found, tree, expected.tree]

        def table(said: Iterator[list[Any]]) -> Iterator[str]:
            rows = heapq.nlargest(arguments.most, _rows(said))
            yield "\t".join(_COLUMNS) + "\n"
            for _, _, file, line, place, _, _ in rows:
                yield "\t".join([file, str(line), *map(_cell, place)]) + "\n"
            if html is not None:
                with open_whole(html) as out:
                    out.write("".join(_page(rows)))

        return files.write(read, table, ("most",))


def _rows(said: Iterator[list[Any]]) -> Iterator[Row]:
    number = 0
    for file, line, found, tree, expected in said:
        for place in map(Place._make, found):
            number -= 1
            yield place.suspicion, number, file, line, place, tree, expected


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


def _page(rows: list[Row]) -> Iterator[str]:
    """Yield an HTML page with the sentences of the rows, the most suspicious first."""
    yield "<!DOCTYPE html><meta charset='utf-8'><title>rerank check</title>\n"
    yield "<style>body {font-family: sans-serif} section {overflow-x: auto}</style>\n"
    sentences: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        sentences.setdefault((row[2], row[3]), []).append(row)
    for (file, line), some in list(sentences.items())[:_DRAWN]:
        yield f"<section><h2>{escape(f'{file}:{line}')}</h2>\n<ul>\n"
        yield from (f"<li>{escape(_sentence(row[4]))}</li>\n" for row in some)
        yield f"</ul>\n{_drawing(some[0][5], some[0][6])}</section>\n"


def _sentence(place: Place) -> str:
    """Return a place in words."""
    gold = place.gold or "no bracket"
    said = "" if place.probability is None else f", probability {place.probability:.2g}"
    likely = place.likely_probability
    said += "" if likely is None else f"; {place.likely} has {likely:.2g}"
    said += f"; other brackets at {place.others} of {place.occurrences}" if place.others else ""
    return f"{gold} around {place.words!r}{said}{'; seen nowhere else' * place.is_alone}"


def _drawing(gold: str, expected: str) -> str:
    trees = Tree.from_string(gold), Tree.from_string(expected)
    keys = [{(node.label, start, end) for node, start, end in brackets(tree)} for tree in trees]
    marked = [
        MarkedTree(
            tree,
            {
                id(node): Mark((node.label, start, end) not in others, None)
                for node, start, end in brackets(tree)
            },
        )
        for tree, others in zip(trees, reversed(keys), strict=True)
    ]
    return svg(list(zip(("treebank", "parser"), marked, strict=True)))
