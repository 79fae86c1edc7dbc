"""The parsers that propose trees, as chosen by flags or settings; of several, the candidates are
pooled."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from reranker.checkpoints.ensemble_file import ModelNames, parser_of
from reranker.checkpoints.installed import parsing_models
from reranker.errors import InputError
from reranker.languages import ENGLISH
from reranker.nbest import Candidate, NBest, Rejected
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, ParserSettings, option, option_of, root_of
from reranker.parsers.registry import create_parser, model_identity
from reranker.process.forks import ForkSafeCache

if TYPE_CHECKING:
    from reranker.checkpoints.members import Precision

_kept = ForkSafeCache()  # parsers by choice: created once, kept for the next call


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Parsers by name, and the settings that they share."""

    named: Sequence[str] = option(
        (),
        "chart (built in), command, or an installed parser; if given several times, their "
        "candidates are joined (default: command with --parser-command, else chart; "
        "docs/parsers.md)",
    )
    command: str | None = option(
        None, "a program that reads sentences, one per line, and prints n-best lists"
    )
    named_models: Sequence[str] = option(
        (),
        "for chart: a span model or the name of an installed ensemble (default: that of "
        "--models, else the installed one); for other parsers: docs/parsers.md; with several "
        "parsers: NAME=MODEL",
    )
    settings: ParserSettings = field(default_factory=ParserSettings)  # all but command and model
    reranking: ModelNames | None = ()
    """The ensemble that chooses among the trees (None: ``RERANK_MODELS``): an installed one may
    bring chart's model."""

    @classmethod
    def from_options(cls, values: Mapping[str, Any], **settings: Any) -> ParserChoice:
        """Return the choice described by ``values``, under the names in ``OPTIONS``, and
        ``models``; missing and empty ones have their defaults. ``settings`` are further ones of
        ``ParserSettings``. Raises InputError."""
        own: dict[str, Any] = {}
        for name, (kind, attribute) in _DECLARED.items():
            value = values.get(name)
            if value is None or (isinstance(value, Sequence) and not value):
                continue
            if kind is ParserSettings:
                settings[attribute] = value
            else:
                own[attribute] = value if attribute == "command" else _names(name, value)
        return cls(**own, settings=ParserSettings(**settings), reranking=values.get("models", ()))

    @property
    def names(self) -> list[str]:
        """Return the names of the chosen parsers."""
        return list(self.named) or ["chart" if self.command is None else "command"]

    @property
    def models(self) -> dict[str, str]:
        """Return, by parser, the models that are named or that the ensemble brings. Raises
        InputError."""
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
        is_open = "chart" in self.names and "chart" not in models
        if is_open and (name := parser_of(self.reranking, self.settings.language)):
            models["chart"] = name
        return models

    @property
    def own_models(self) -> str | None:
        """Return the name of the installed ensemble that chooses among the trees of the parser
        ``chart``, where neither its model nor an ensemble is named; None if the default models do,
        as for other parsers' trees. Raises InputError."""
        is_named = self.reranking or self.named_models or self.names != ["chart"]
        is_english = self.settings.language in ("", ENGLISH)
        return parsing_models() if is_english and not is_named else None

    def resolved(self) -> ParserChoice:
        """Return the same choice for another machine, which may have other ensembles."""
        models = [f"{name}={model}" for name, model in self.models.items()]
        return replace(self, named_models=models, reranking=())

    def model_identities(self) -> dict[str, str]:
        """Return, for each parser that has a model, text that changes with the model. Raises
        InputError."""
        models = self.models
        found = {
            name: model_identity(name, replace(self.settings, model=models.get(name, "")))
            for name in self.names
        }
        return {name: identity for name, identity in found.items() if identity}

    def identity(self) -> dict[str, Any]:
        """Return everything on which the parsers' lists depend, as plain data. Raises
        InputError."""
        settings = self.settings
        return {
            "parser": self.names,
            "parser_model": self.model_identities(),
            "parser_command": self.command,
            "candidates": settings.candidates,
            "overparsing": settings.overparsing,
            "format": settings.options.format,
            "beam": settings.options.beam,
        }

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


def _names(option: str, value: Any) -> list[str]:
    """Return one or several names or paths as strings. Raises InputError for anything else."""
    try:
        return [*map(os.fsdecode, [value] if isinstance(value, str | os.PathLike) else value)]
    except TypeError:
        raise InputError(f"{option} must be a name or several, got {value!r:.60}") from None


class ParserOption(NamedTuple):
    """An option that a user can set for a parser."""

    default: Any
    help: str


_DECLARED: dict[str, tuple[type, str]] = {
    "parser": (ParserChoice, "named"),
    "parser_command": (ParserChoice, "command"),
    "parser_model": (ParserChoice, "named_models"),
    "language": (ParserSettings, "language"),
    "candidates": (ParserSettings, "candidates"),
    "overparsing": (ParserSettings, "overparsing"),
    "parser_seconds": (ParserSettings, "seconds"),
}
OPTIONS = {name: ParserOption(*option_of(*place)) for name, place in _DECLARED.items()}
"""By the names that flags, the service's settings, spaCy's config and ``reranker.parse`` share."""


def kept_parser(
    parser: Parser | str,
    reranking: ModelNames | None = (),
    precision: Precision = "fast",
    **options: Any,
) -> Parser:
    """Return ``parser`` itself, or the parser of that name with these ``OPTIONS``, made once and
    shared by all callers; ``reranking`` is that of ``ParserChoice``, ``precision`` that of
    ``ParserSettings``. Raises InputError for anything else, an unknown option, or a parser or model
    that does not exist."""
    if not isinstance(parser, str):
        if not hasattr(parser, "batch_sizes"):
            raise InputError(f"expected a parser or its name, such as 'bllip', got {parser!r:.60}")
        if options:
            raise InputError(f"{', '.join(options)}: only for a parser that is given by its name")
        return parser
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"there is no parser option {name!r}; there are {', '.join(OPTIONS)}")
    named = {**options, "parser": parser, "models": reranking}
    choice = ParserChoice.from_options(named, precision=precision)
    key = choice.names, choice.command, choice.models, choice.settings
    return _kept.get(repr(key), lambda: _made(choice))


def _made(choice: ParserChoice) -> Parser:
    parser = choice.create()
    atexit.register(parser.stop)
    return parser


class PooledParsers:
    """Asks each of several parsers; a sentence is lost only if none of them can parse it."""

    def __init__(self, parsers: Mapping[str, Parser]) -> None:
        """Take ``parsers`` by name; the first parser's candidates come first."""
        self._parsers = parsers
        self.root = root_of(next(iter(parsers.values())))
        sizes = [parser.batch_sizes for parser in parsers.values()]
        steps = range(max(map(len, sizes)))
        self.batch_sizes = [max(each[min(step, len(each) - 1)] for each in sizes) for step in steps]

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        """Return for each sentence the candidates of all parsers, or why none has any."""
        answers = [parser.parse(sentences) for parser in self._parsers.values()]
        return [pooled(list(self._parsers), each) for each in zip(*answers, strict=True)]

    def stop(self) -> None:
        for parser in self._parsers.values():
            parser.stop()


def pooled(names: Sequence[str], answers: Sequence[NBest | str]) -> NBest | str:
    """Join the parsers' lists for one sentence into one; return the reason if there is none.

    A tree that an earlier parser has proposed, ignoring part-of-speech tags, is left out: it counts
    as that parser's, with the first score there is. If a parser has no list, ``rejected`` says why
    (``missing``).
    """
    reasons = [
        f"{name}: {answer}"
        for name, answer in zip(names, answers, strict=True)
        if isinstance(answer, str)
    ]
    if len(reasons) == len(answers):
        return "; ".join(reasons)
    candidates: list[Candidate] = []
    rejected: list[Rejected] = []
    places: dict[tuple[str, ...], int] = {}  # in ``candidates``, of the trees of earlier parsers
    begin = 0
    for answer in answers:
        if isinstance(answer, str):
            rejected.append(Rejected(begin, 0, "missing", reasons.pop(0), ""))
            begin += 1
            continue
        earlier = dict(places)
        for candidate in answer.candidates:
            place = earlier.get(candidate.tokens)
            if place is None:
                places.setdefault(candidate.tokens, len(candidates))
                candidates.append(replace(candidate, index=begin + candidate.index))
            elif candidates[place].parser_score is None:
                candidates[place] = replace(candidates[place], parser_score=candidate.parser_score)
        rejected += [replace(entry, index=begin + entry.index) for entry in answer.rejected]
        begin += len(answer.candidates) + len(answer.rejected)
    first = next(answer for answer in answers if isinstance(answer, NBest))
    certain = (answer.certainty for answer in answers if isinstance(answer, NBest))
    return replace(
        first,
        candidates=tuple(candidates),
        rejected=tuple(rejected),
        certainty=next(filter(None, certain), None),
    )
