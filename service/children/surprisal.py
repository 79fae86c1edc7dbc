"""Requests to a surprisal child, and its answers. ``reranker.plugins.surprisal.service_child`` runs
there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.ranking.ranker import Member
from reranker.service.children.scoring import Models
from reranker.text.reading import TextSentence


class ToRead(NamedTuple):
    """A sentence, and the model and options for reading the sentence."""

    models: Sequence[str] | None
    """What the service was told to load; None for what is installed."""
    model: str
    """The name of the one among them."""
    sha256: str
    number: int
    sentence: TextSentence
    beam: int
    unit: Literal["bits", "nats"]
    rows: Literal["word", "token"]


class ReadAnswer(NamedTuple):
    """The surprisal of a sentence as JSON, and everything the numbers depend on."""

    about: dict[str, Any]
    sentence: bytes


def forward_model(models: Models) -> Member | None:
    """Return the first forward language model of an ensemble, as ``rerank surprisal`` does."""
    for member in models.members:
        known = member.vocabulary
        if isinstance(known, Vocabulary) and not (known.backward or known.reads_tags):
            return member
    return None
