"""Parsers by name: created once, kept for the next call, and stopped when the program ends."""

from __future__ import annotations

import atexit
from typing import Any

from reranker.errors import InputError
from reranker.parsers.choice import OPTIONS, ParserChoice
from reranker.parsers.parser import Parser
from reranker.process.forks import Once

_kept = Once()


def kept_parser(parser: Parser | str, **options: Any) -> Parser:
    """The parser itself, or the one of that name with these ``OPTIONS`` (reranker.parsers.choice),
    which all callers share. Raises InputError for anything else, for an unknown option, and if
    there is no such parser or model."""
    if not isinstance(parser, str):
        if not hasattr(parser, "batch_sizes"):
            raise InputError(f"expected a parser or its name, such as 'bllip', got {parser!r:.60}")
        if options:
            raise InputError(f"{', '.join(options)}: only for a parser that is given by its name")
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
