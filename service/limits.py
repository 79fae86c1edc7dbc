"""The limits of a request's body.

A child that reads bodies is told no other settings: bytes that a stranger sent must meet no key.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from reranker.service.errors import RequestError

if TYPE_CHECKING:
    from reranker.service.settings import Settings
    from reranker.text.conventions import Convention


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings by which a body is read, under their names."""

    max_body_bytes: int
    max_values: int
    max_tree_bytes: int
    max_sentences: int
    max_candidates: int
    max_tree_tokens: int
    max_depth: int
    max_characters: int
    longest: int
    reading_seconds: float
    text_language: str
    convention: Convention

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """Return the limits among the settings."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})

    def check(self, name: str, value: float, shown: str, param: str | None) -> None:
        """Raise RequestError 422 if ``value`` exceeds the limit ``name``; the message names the
        value as ``shown``."""
        if value > getattr(self, name):
            raise self.exceeded(name, shown, param)

    def exceeded(self, name: str, shown: str, param: str | None) -> RequestError:
        """Return a 422 that names a limit and the value that exceeds the limit."""
        message = f"{shown} is more than the limit {name} = {getattr(self, name):g} allows"
        return RequestError(422, "over-limit", message, param)
