"""Summaries of an NBest for tests."""

from __future__ import annotations

from collections.abc import Callable

from reranker.nbest import NBest

Read = Callable[..., list[NBest]]


def accepted(nbest: NBest) -> list[str]:
    """Return the candidates' tokens."""
    return [" ".join(one.tokens) for one in nbest.candidates]


def trees(nbest: NBest) -> list[str]:
    """Return the candidates with the sentence's words and tags."""
    return [one.tree.to_string() for one in nbest.candidates]


def scores(nbest: NBest) -> list[float | None]:
    return [one.parser_score for one in nbest.candidates]


def rejected(nbest: NBest) -> list[tuple[int, int, str]]:
    """Return place, line and code of each rejection."""
    return [(one.index, one.line, one.code) for one in nbest.rejected]
