"""The flags that say which parser proposes the trees, for `rerank parse` and `rerank adapt`."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from pathlib import Path
from typing import Any

from reranker.checkpoints.installed import models_of
from reranker.commands.arguments import add_format
from reranker.errors import InputError
from reranker.files.output import files_of
from reranker.nbest import ReadOptions
from reranker.nbest.dialects.registry import DIALECTS
from reranker.parsers.choice import OPTIONS, ParserChoice
from reranker.parsers.parser import MOST_CANDIDATES, MOST_SECONDS
from reranker.process.flags import positive, whole_number

_METAVARS: dict[str, dict[str, Any]] = {
    "parser": {"action": "append", "metavar": "NAME"},
    "parser_command": {"metavar": "COMMAND"},
    "parser_model": {"action": "append", "metavar": "MODEL"},
    "language": {"metavar": "CODE"},
    "candidates": {"type": whole_number(1, MOST_CANDIDATES), "metavar": "N"},
    "overparsing": {"type": positive, "metavar": "N"},
    "parser_seconds": {"type": whole_number(1, MOST_SECONDS), "metavar": "S"},
}


def add_arguments(parser: argparse.ArgumentParser, *, longest: int) -> None:
    """Add the flags; ``longest`` is the default of ``--longest``."""
    add_choice(parser, longest=longest)
    add_format(parser, "format of the lists that --parser-command prints")
    text = "candidates per list, for formats without this number"
    parser.add_argument("--beam", type=positive, metavar="K", help=text)


def add_choice(parser: argparse.ArgumentParser, *, longest: int) -> None:
    """Add the flags, except those for the format of a command's lists."""
    add = parser.add_argument
    for name, (default, text) in OPTIONS.items():
        how = dict(_METAVARS[name])
        if default:
            how, text = {**how, "default": default}, f"{text} (default: %(default)s)"
        add(f"--{name.replace('_', '-')}", help=text, **how)
    text = "parsers to run at once (default: one per core)"
    add("--jobs", type=positive, metavar="N", help=text)
    text = "do not parse sentences of more words (default: %(default)s)"
    add("--longest", type=positive, default=longest, metavar="WORDS", help=text)


def choice(arguments: argparse.Namespace) -> ParserChoice:
    """Return the choice of parsers that the flags describe. Raises InputError."""
    if arguments.format != "auto" and DIALECTS[arguments.format].needs_beam and not arguments.beam:
        raise InputError(f"--format {arguments.format} needs --beam K")
    values = vars(arguments)
    if "models" in arguments:
        values = {**values, "models": models(arguments)}
    return ParserChoice.from_options(
        values,
        options=ReadOptions(arguments.format, beam=arguments.beam),
        device=getattr(arguments, "device", "cpu"),  # `rerank adapt` has none
        precision=getattr(arguments, "precision", "fast"),
    )


def models(arguments: argparse.Namespace) -> list[str] | None:
    """Return the models that the flags name: those of ``--models``, else of ``--language``; None
    for the default ones. Raises InputError if there are none of the language."""
    named: list[str] | None = arguments.models
    if not named and (path := models_of(arguments.language)):
        return [path]
    return named


def inputs(choice: ParserChoice) -> list[Path]:
    """Return the files that the parsers read, including those that a command names."""
    names = [*choice.models.values()]
    with contextlib.suppress(ValueError):  # not a command; running it will say so
        names += shlex.split(choice.command or "")
    return files_of(names)
