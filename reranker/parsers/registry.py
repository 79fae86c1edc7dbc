"""Parsers by name: ours, and those of other packages.

A package adds its own by an entry point in the group ``reranker.parsers``, a ``Factory``
(reranker.parsers.parser)::

    [project.entry-points."reranker.parsers"]
    mine = "my_package.my_module:MyParser"
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from reranker.errors import InputError
from reranker.parsers.parser import Factory, Parser, ParserSettings

_GROUP = "reranker.parsers"

# Imported when they are used.
_OURS = {
    "beam": "reranker.parsers.beam:BeamParser",
    "benepar": "reranker.parsers.benepar:BeneparParser",
    "bllip": "reranker.parsers.bllip:BllipParser",
    "chart": "reranker.parsers.chart:ChartParser",
    "command": "reranker.parsers.command:CommandParser",
    "encdec": "reranker.parsers.encdec:EncdecParser",
    "stanza": "reranker.parsers.stanza:StanzaParser",
}


def parser_names() -> list[str]:
    """The names of all parsers."""
    return sorted({*_OURS, *(point.name for point in entry_points(group=_GROUP))})


def create_parser(name: str, settings: ParserSettings) -> Parser:
    """The parser of that name. Raises InputError if there is none, or if it cannot be made with
    these settings."""
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        factory: Any = getattr(import_module(module), attribute)
    else:
        points = [point for point in entry_points(group=_GROUP) if point.name == name]
        if not points:
            raise InputError(f"there is no parser {name!r}; there are {', '.join(parser_names())}")
        factory = points[0].load()
    return cast(Factory, factory)(settings)
