"""Parsers by name: made once, kept for the next call, and stopped when the program ends."""

from __future__ import annotations

import atexit
import threading

from reranker.errors import InputError
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.scoring.forks import begin_again_after_fork

_lock = threading.Lock()
_kept: dict[tuple[str, str], Parser] = {}


def _renew_lock(_: object) -> None:
    """Another thread of the process that this one was forked from may have held it."""
    global _lock
    _lock = threading.Lock()


def kept_parser(parser: Parser | str, model: str = "") -> Parser:
    """The parser itself, or the one of that name with that model and otherwise default settings,
    which all callers share. Raises InputError for what is neither, and if there is no such parser
    or model."""
    if not isinstance(parser, str):
        if not hasattr(parser, "batch_sizes"):
            raise InputError(f"expected a parser or its name, such as 'bllip', got {parser!r:.60}")
        return parser
    with _lock:
        kept = _kept.get((parser, model))
        if kept is None:
            kept = _kept[parser, model] = create_parser(parser, ParserSettings(model=model))
            atexit.register(kept.stop)
    return kept


begin_again_after_fork(kept_parser, _renew_lock)
