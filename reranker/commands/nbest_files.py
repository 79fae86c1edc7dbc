"""The flags that name n-best files and say how to read them, shared by several commands."""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reranker.commands.arguments import add_format
from reranker.commands.progress import message, print_rejected
from reranker.errors import InputError
from reranker.files.opening import expanded, input_digest
from reranker.nbest import FORMATS, NBest, NBestFiles, ReadOptions, read_nbest
from reranker.nbest.data import Repair
from reranker.nbest.guess import with_hint
from reranker.process.flags import positive
from reranker.ranking import Ranking


def add_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--nbest`` (or, if not ``required``, positional files) and ``add_reading_arguments``."""
    files = (
        "n-best lists: files or quoted globs, plain, .gz or .zst; - reads stdin; several files "
        "are pooled sentence by sentence"
    )
    if required:
        parser.add_argument("--nbest", required=True, nargs="+", metavar="FILE", help=files)
    else:
        parser.add_argument("nbest", nargs="+", metavar="FILE", help=files)
    add_reading_arguments(parser)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how to read n-best files."""
    add = parser.add_argument
    add_format(parser, f"one of {', '.join(FORMATS)}")
    text = (
        "the sentences, one per line, for candidates that hide words; word/TAG or word<TAB>TAG "
        "gives tags too"
    )
    add("--tokens", metavar="FILE", help=text)
    text = (
        "repair broken candidates instead of rejecting them (default: for seq2seq parsers); with "
        "'authors', theirs as Suzuki et al. (2018) do"
    )
    add("--repair", nargs="?", const=True, type=_repair, metavar="authors", help=text)
    add("--no-repair", dest="repair", action="store_false", default=None, help="reject all of them")
    text = "lines per list, for files that do not say (OpenNMT's -n_best K)"
    add("--beam", type=positive, metavar="K", help=text)


def _repair(text: str) -> Repair:
    if text == "authors":
        return "authors"
    raise argparse.ArgumentTypeError(f"{text!r} is not 'authors'; name files before --repair")


class FileLists:
    """The lists of opened files, a source of answers.py."""

    parsers: Sequence[str] = ()
    language = None

    def __init__(
        self, arguments: argparse.Namespace, files: NBestFiles, first: NBest, restore: bool
    ) -> None:
        """Take the files and ``first``, the list that has been read already."""
        self._arguments, self._restore, self._files = arguments, restore, files
        self.inputs = inputs(arguments)
        self._lists = with_hint(
            itertools.chain([first], files), lambda hint: message(f"rerank: {hint}")
        )
        self.size = files.size
        """Bytes of all files, compressed ones as they are; None if one is a pipe."""

    @property
    def position(self) -> int:
        """Return about how many of these bytes the lists read so far occupy."""
        return self._files.position

    def __iter__(self) -> Iterator[NBest]:
        return self

    def __next__(self) -> NBest:
        return next(self._lists)

    def skip(self) -> NBest | None:
        """Skip the next list; None if there is none left."""
        return next(self._lists, None)

    def identity(self) -> dict[str, Any]:
        """Return everything on which the lists depend; the content of standard input is not
        known."""
        return {
            "nbest": [input_digest(path) for path in expanded(self._arguments.nbest)],
            **reading_settings(self._arguments),
            "restore": self._restore,
        }

    def report(self, ranking: Ranking, number: int) -> None:
        """Name the candidates that cannot be used."""
        print_rejected(ranking, number)


def open_lists(
    arguments: argparse.Namespace,
    *,
    restore: bool = False,
    describe: Callable[[dict[str, str]], None] | None = None,
) -> FileLists:
    """Open the lists of the given files. The first list is read at once, so that a wrong file is
    reported before models are loaded.

    ``describe`` is called with each file's name and format, which are otherwise printed to
    standard error. Raises InputError.
    """
    if inputs(arguments).count("-") > 1:
        raise InputError("standard input (-) can be read only once")
    lists = read_nbest(*expanded(arguments.nbest), options=options(arguments, restore))
    for file in lists.files:
        if describe is None:
            message(f"rerank: {file.name}: format {file.description}")
        else:
            describe({"name": file.name, "format": file.description})
    try:
        first = next(lists)
    except StopIteration:
        raise InputError(f"{', '.join(arguments.nbest)}: no n-best lists") from None
    return FileLists(arguments, lists, first, restore)


def options(arguments: argparse.Namespace, restore: bool = False) -> ReadOptions:
    """Return the options given by the flags of ``add_reading_arguments``."""
    return ReadOptions(
        arguments.format, arguments.tokens, arguments.repair, arguments.beam, restore
    )


def read_ahead(arguments: argparse.Namespace) -> Iterator[NBest] | None:
    """Read the lists a first time so that they can be checked before scoring; None if a file can be
    read only once."""
    files = expanded(arguments.nbest)
    if not all(map(os.path.isfile, [*files, *filter(None, [arguments.tokens])])):
        return None
    return read_nbest(*files, options=options(arguments), warn=lambda _: None)


def inputs(arguments: argparse.Namespace) -> list[str]:
    """Return every file that the flags say to read, except checkpoints."""
    files = [*expanded(arguments.nbest), *filter(None, [arguments.tokens])]
    if gold := getattr(arguments, "gold", None):
        from reranker.trees.treebank import treebank_files

        files += treebank_files(gold)
    return files


def reading_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the flags of ``add_reading_arguments``, as plain data."""
    return {
        "format": arguments.format,
        "tokens": input_digest(arguments.tokens) if arguments.tokens else None,
        "repair": arguments.repair,
        "beam": arguments.beam,
    }
