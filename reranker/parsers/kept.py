"""Parsers by name: made once, kept for the next call, and stopped when the program ends."""

from __future__ import annotations

import atexit

from reranker.errors import InputError
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.process.forks import Once

_kept = Once()


def kept_parser(parser: Parser | str, model: str = "") -> Parser:
    """The parser itself, or the one of that name with that model and otherwise default settings,
    which all callers share. Raises InputError for what is neither, and if there is no such parser
    or model."""
    if not isinstance(parser, str):
        if not hasattr(parser, "batch_sizes"):
            raise InputError(f"expected a parser or its name, such as 'bllip', got {parser!r:.60}")
        return parser
    return _kept.get((parser, model), lambda: _made(parser, model))


def _made(name: str, model: str) -> Parser:
    parser = create_parser(name, ParserSettings(model=model))
    atexit.register(parser.stop)
    return parser
