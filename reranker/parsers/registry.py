"""Parsers by name: ours, and those of other packages (reranker.registry)."""

from __future__ import annotations

from typing import cast

from reranker import registry
from reranker.checkpoints.installed import installed_span_model
from reranker.files.opening import file_sha256
from reranker.parsers.parser import Factory, Parser, ParserSettings


def create_parser(name: str, settings: ParserSettings) -> Parser:
    """Create the parser of that name. Raises InputError if there is none, or if it cannot be made
    with these settings."""
    return _factory(name)(settings)


def model_identity(name: str, settings: ParserSettings) -> str:
    """Return text that changes with the model that a parser would use, such as its SHA-256: a run
    is resumed only with the same. Raises InputError for a model that does not exist."""
    if name == "chart":  # without importing torch
        path, known = installed_span_model(settings.model, settings.language)
        return known or file_sha256(path)
    identity = getattr(_factory(name), "model_identity", None)
    return settings.model if identity is None else str(identity(settings))


def _factory(name: str) -> Factory:
    return cast(Factory, registry.load("parsers", name))
