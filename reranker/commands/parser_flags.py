"""The flags that say which parser proposes the trees, for `rerank parse` and `rerank adapt`."""

from __future__ import annotations

import argparse
from typing import Any

from reranker.commands.arguments import positive
from reranker.errors import InputError
from reranker.nbest import FORMATS, ReadOptions
from reranker.nbest.dialects.registry import DIALECTS
from reranker.parsers.bllip_model import bllip_model
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.pool import PooledParsers
from reranker.parsers.registry import create_parser
from reranker.scoring.cores import available_cores


def add_arguments(parser: argparse.ArgumentParser, *, longest: int) -> None:
    """Add the flags; ``longest`` is the default of ``--longest``."""
    parser.add_argument(
        "--parser",
        action="append",
        metavar="NAME",
        help="bllip, command or another that is installed (default: command with "
        "--parser-command, else bllip); several times: their candidates together",
    )
    parser.add_argument(
        "--parser-command",
        metavar="COMMAND",
        help="a program that reads sentences, one a line, and prints n-best lists",
    )
    parser.add_argument(
        "--parser-model",
        action="append",
        metavar="MODEL",
        help="of bllip: a folder, a .tar.gz or the name of an installed one (default: the first "
        "that `rerank models` lists); NAME=MODEL says whose it is if there are several parsers",
    )
    parser.add_argument(
        "--candidates",
        type=positive,
        default=50,
        metavar="N",
        help="trees that the parser proposes for a sentence; a command has its own flags for that "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--overparsing",
        type=positive,
        default=10,
        metavar="N",
        help="how thoroughly bllip searches; 21 takes three times as long (default: %(default)s)",
    )
    parser.add_argument(
        "--parser-seconds",
        type=positive,
        default=20,
        metavar="S",
        help="time limit for a sentence; for a command, on average over those that it gets at once "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="parsers to run at once (default: one for each core)",
    )
    parser.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        metavar="NAME",
        help="of a command's lists (default: auto-detected; docs/formats.md)",
    )
    parser.add_argument(
        "--beam", type=positive, metavar="K", help="lines per list, for formats that do not say"
    )
    parser.add_argument(
        "--longest",
        type=positive,
        default=longest,
        metavar="WORDS",
        help="do not parse longer sentences (default: %(default)s)",
    )


def parser_from(arguments: argparse.Namespace) -> Parser:
    """The parser that the flags name. Raises InputError."""
    if arguments.format != "auto" and DIALECTS[arguments.format].needs_beam and not arguments.beam:
        raise InputError(f"--format {arguments.format} needs --beam K")
    models = _models(arguments)
    parsers = {}
    for name in names(arguments):
        if name in parsers:
            raise InputError(f"--parser {name} is named twice")
        if name == "command" and arguments.parser_command is None:
            raise InputError("--parser command needs --parser-command, a program")
        settings = ParserSettings(
            command=arguments.parser_command or "",
            model=models.get(name, ""),
            candidates=arguments.candidates,
            seconds=arguments.parser_seconds,
            options=ReadOptions(arguments.format, beam=arguments.beam),
            overparsing=arguments.overparsing,
        )
        parsers[name] = create_parser(name, settings)
    return PooledParsers(parsers) if len(parsers) > 1 else parsers[name]


def jobs(arguments: argparse.Namespace) -> int:
    """How many parsers run at once."""
    number: int = arguments.jobs or available_cores()
    return number


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the lists depend on, as plain data."""
    chosen, models = names(arguments), _models(arguments)
    if "bllip" in chosen:
        path, sha256 = bllip_model(models.get("bllip", ""))
        models["bllip"] = sha256 or str(path)
    flags = ("parser_command", "candidates", "overparsing", "format", "beam", "longest")
    return {
        "parser": chosen,
        "parser_model": models,
        **{name: getattr(arguments, name) for name in flags},
    }


def names(arguments: argparse.Namespace) -> list[str]:
    """The parsers that the flags name."""
    chosen: list[str] | None = arguments.parser
    return chosen or ["bllip" if arguments.parser_command is None else "command"]


def _models(arguments: argparse.Namespace) -> dict[str, str]:
    """The model of each parser that --parser-model names one for."""
    chosen = names(arguments)
    models: dict[str, str] = {}
    for given in arguments.parser_model or ():
        name, sign, model = given.partition("=")
        if not sign or name not in chosen:
            if len(chosen) > 1:
                raise InputError(
                    f"--parser-model {given}: say whose it is, for instance {chosen[0]}={given}"
                )
            name, model = chosen[0], given
        if name in models:
            raise InputError(
                f"--parser-model: {name} has one model, not {models[name]} and {model}"
            )
        models[name] = model
    return models
