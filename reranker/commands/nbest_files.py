"""The flags that say what n-best files are and how to read them; several commands share them."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from reranker.errors import InputError
from reranker.files.digest import file_sha256
from reranker.nbest import FORMATS, NBest, ReadOptions, read_nbest


def add_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--nbest`` (or, if not ``required``, positional files) and what goes with it."""
    files = "n-best lists, plain, .gz or .zst; - reads stdin; several files are pooled by sentence"
    if required:
        parser.add_argument("--nbest", required=True, nargs="+", metavar="FILE", help=files)
    else:
        parser.add_argument("nbest", nargs="+", metavar="FILE", help=files)
    parser.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        metavar="NAME",
        help=f"one of {', '.join(FORMATS)} (default: seen from the content; docs/formats.md)",
    )
    parser.add_argument(
        "--tokens",
        metavar="FILE",
        help="the sentences, one a line, for candidates that hide words; word/TAG or word<TAB>TAG "
        "tell tags too",
    )
    parser.add_argument(
        "--repair",
        action=argparse.BooleanOptionalAction,
        help="mend broken candidates instead of rejecting them (default: for seq2seq parsers)",
    )
    parser.add_argument(
        "--beam",
        type=positive,
        metavar="K",
        help="lines of a list, where the file does not say (OpenNMT's -n_best K)",
    )


def open_lists(
    arguments: argparse.Namespace,
    *,
    restore: bool = False,
    describe: Callable[[dict[str, str]], None] | None = None,
) -> Iterator[NBest]:
    """The lists of the files given, the first read at once: a wrong file is found early.

    ``describe`` is told each file's name and format; without it, standard error is. Raises
    InputError.
    """
    options = ReadOptions(
        arguments.format, arguments.tokens, arguments.repair, arguments.beam, restore
    )
    if inputs(arguments).count("-") > 1:
        raise InputError("standard input (-) can be read only once")
    lists = read_nbest(*arguments.nbest, options=options)
    for file in lists.files:
        if describe is None:
            print(f"rerank: {file.name}: format {file.description}", file=sys.stderr)
        else:
            describe({"name": file.name, "format": file.description})
    try:
        return itertools.chain([next(lists)], lists)
    except StopIteration:
        raise InputError(f"{', '.join(arguments.nbest)}: no n-best lists") from None


def inputs(arguments: argparse.Namespace) -> list[str]:
    """The files that the flags say to read, checkpoints apart."""
    others = (arguments.tokens, getattr(arguments, "gold", None))
    return [*arguments.nbest, *(one for one in others if one is not None)]


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the lists depend on, as plain data; standard input cannot be vouched for."""
    return {
        "nbest": [_digest(path) for path in arguments.nbest],
        "format": arguments.format,
        "tokens": _digest(arguments.tokens) if arguments.tokens else None,
        "repair": arguments.repair,
        "beam": arguments.beam,
    }


def _digest(path: str) -> str:
    # Reading standard input or a pipe would use it up.
    return file_sha256(path) if os.path.isfile(path) else path


def positive(text: str) -> int:
    """The type of a flag that counts something."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)
