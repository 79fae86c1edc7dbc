"""The parsers that propose trees, as chosen by flags or settings."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from reranker.errors import InputError
from reranker.parsers.parser import Parser, ParserSettings, option, option_of
from reranker.parsers.pool import PooledParsers
from reranker.parsers.registry import create_parser
from reranker.process.forks import Once

_kept = Once()  # parsers by choice: created once, kept for the next call


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Parsers by name, and the settings that they share."""

    named: Sequence[str] = option(
        (),
        "chart, bllip, beam, command, encdec or another that is installed (default: command with "
        "--parser-command, else chart, which is built in); several times: their candidates "
        "together",
    )
    command: str | None = option(
        None, "a program that reads sentences, one a line, and prints n-best lists"
    )
    named_models: Sequence[str] = option(
        (),
        "of chart: a span model of `rerank train` (default: the installed one); of bllip: a "
        "folder, a .tar.gz or the name of an installed one (default: the first that `rerank "
        "models` lists); of beam: a forward language model; of encdec: a checkpoint of `rerank "
        "train`; NAME=MODEL says whose it is if there are several parsers",
    )
    settings: ParserSettings = field(default_factory=ParserSettings)  # all but command and model

    @classmethod
    def of(cls, values: Mapping[str, Any], **settings: Any) -> ParserChoice:
        """The choice described by ``values``, under the names in ``OPTIONS``; missing and empty
        ones have their defaults. ``settings`` are further ones of ``ParserSettings``."""
        own: dict[str, Any] = {}
        for name, (kind, attribute) in _DECLARED.items():
            value = values.get(name)
            if value in (None, "", (), []):
                continue
            if kind is ParserSettings:
                settings[attribute] = value
            else:
                is_one = isinstance(value, str) and attribute != "command"
                own[attribute] = [value] if is_one else value
        return cls(**own, settings=ParserSettings(**settings))

    @property
    def names(self) -> list[str]:
        """The parsers that are chosen."""
        return list(self.named) or ["chart" if self.command is None else "command"]

    @property
    def models(self) -> dict[str, str]:
        """The named model of each parser that has one. Raises InputError."""
        models: dict[str, str] = {}
        for given in self.named_models:
            name, sign, model = given.partition("=")
            if not sign or name not in self.names:
                if len(self.names) > 1:
                    raise InputError(
                        f"--parser-model {given}: name its parser, for instance "
                        f"{self.names[0]}={given}"
                    )
                name, model = self.names[0], given
            if name in models:
                raise InputError(
                    f"--parser-model: {name} has one model, not {models[name]} and {model}"
                )
            models[name] = model
        return models

    def create(self) -> Parser:
        """Create the parser, or several whose candidates are pooled. Raises InputError."""
        models = self.models
        parsers: dict[str, Parser] = {}
        for name in self.names:
            if name in parsers:
                raise InputError(f"--parser {name} is named twice")
            if name == "command" and self.command is None:
                raise InputError("--parser command needs --parser-command, a program")
            settings = replace(
                self.settings, command=self.command or "", model=models.get(name, "")
            )
            parsers[name] = create_parser(name, settings)
        return PooledParsers(parsers) if len(parsers) > 1 else parsers[self.names[0]]


class ParserOption(NamedTuple):
    """An option that a user can set for a parser."""

    default: Any
    help: str


_DECLARED: dict[str, tuple[type, str]] = {
    "parser": (ParserChoice, "named"),
    "parser_command": (ParserChoice, "command"),
    "parser_model": (ParserChoice, "named_models"),
    "candidates": (ParserSettings, "candidates"),
    "overparsing": (ParserSettings, "overparsing"),
    "parser_seconds": (ParserSettings, "seconds"),
}
OPTIONS = {name: ParserOption(*option_of(*place)) for name, place in _DECLARED.items()}
"""By the names that flags, the service's settings, spaCy's config and ``reranker.parse`` share."""


def kept_parser(parser: Parser | str, **options: Any) -> Parser:
    """The parser itself, or the one of that name with these ``OPTIONS`` (reranker.parsers.choice),
    which all callers share. Raises InputError for anything else, for an unknown option, and if
    there is no such parser or model."""
    if not isinstance(parser, str):
        if not hasattr(parser, "batch_sizes"):
            raise InputError(f"expected a parser or its name, such as 'bllip', got {parser!r:.60}")
        return parser
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"there is no parser option {name!r}; there are {', '.join(OPTIONS)}")
    choice = ParserChoice.of({**options, "parser": parser})
    return _kept.get(repr(choice), lambda: _made(choice))


def _made(choice: ParserChoice) -> Parser:
    parser = choice.create()
    atexit.register(parser.stop)
    return parser
