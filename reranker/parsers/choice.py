"""Which parsers propose the trees, as flags or settings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reranker.errors import InputError
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.pool import PooledParsers
from reranker.parsers.registry import create_parser


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Parsers by name, and the settings that they share."""

    named: Sequence[str] = ()
    """If empty: command if there is a ``command``, else chart."""
    command: str | None = None
    named_models: Sequence[str] = ()
    """The model of the only parser, or of one of several, as ``NAME=MODEL``."""
    settings: ParserSettings = field(default_factory=ParserSettings)
    """All but command and model."""

    @property
    def names(self) -> list[str]:
        """The parsers that are chosen."""
        return list(self.named) or ["chart" if self.command is None else "command"]

    @property
    def models(self) -> dict[str, str]:
        """The model of each parser that one is named for. Raises InputError."""
        models: dict[str, str] = {}
        for given in self.named_models:
            name, sign, model = given.partition("=")
            if not sign or name not in self.names:
                if len(self.names) > 1:
                    raise InputError(
                        f"--parser-model {given}: say whose it is, for instance "
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
        """The parser, or several whose candidates are pooled. Raises InputError."""
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
