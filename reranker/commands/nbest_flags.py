"""The flags that name n-best files and say how to read them, shared by several commands."""

from __future__ import annotations

import argparse

from reranker.commands.arguments import add_format
from reranker.files.opening import expanded
from reranker.nbest import FORMATS, ReadOptions
from reranker.nbest.data import Repair
from reranker.process.flags import positive


def add_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--nbest`` (or, if not ``required``, positional files) and ``add_reading_arguments``."""
    files = (
        "n-best lists: files or quoted patterns, plain, .gz or .zst; - reads standard input. The "
        "lists that several files have for a sentence are joined"
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
        "for candidates without words: the sentences, one per line; word/TAG or word<TAB>TAG "
        "gives tags, too"
    )
    add("--tokens", metavar="FILE", help=text)
    text = (
        "repair broken candidates instead of rejecting them (default: for seq2seq parsers); "
        "authors: as Suzuki et al. (2018) do"
    )
    add("--repair", nargs="?", const=True, type=_repair, metavar="authors", help=text)
    add(
        "--no-repair",
        dest="repair",
        action="store_false",
        default=None,
        help=("reject all broken candidates"),
    )
    text = "candidates per list, for formats without this number (OpenNMT's -n_best K)"
    add("--beam", type=positive, metavar="K", help=text)


def _repair(text: str) -> Repair:
    if text == "authors":
        return "authors"
    raise argparse.ArgumentTypeError(f"{text!r} is not 'authors'; name files before --repair")


def options(arguments: argparse.Namespace, *, restore: bool = False) -> ReadOptions:
    """Return the options given by the flags of ``add_reading_arguments``."""
    return ReadOptions(
        arguments.format, arguments.tokens, arguments.repair, arguments.beam, restore
    )


def inputs(arguments: argparse.Namespace) -> list[str]:
    """Return every file that the flags say to read, except checkpoints."""
    files = [*expanded(arguments.nbest), *filter(None, [arguments.tokens])]
    if gold := getattr(arguments, "gold", None):
        from reranker.trees.treebank import treebank_files

        files += treebank_files(gold)
    return files
