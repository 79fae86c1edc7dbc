"""Small untrained span models for tests: exactness does not depend on training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reranker.checkpoints.span_file import SpanCheckpoint, save_span_model
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.checkpoints.word_pieces import WordPieces
from reranker.models.piece_encoder import PieceConfig
from reranker.models.span_model import SpanConfig, SpanModel
from reranker.trees.linearize import linearize_tagged
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES

SPELLING_ROWS = 32
PIECES = ["[UNK]", "[CLS]", "[SEP]", "we", "saw", "##s", "the", "m", "##an", "on", ".", "mon"]

SPANS = """[training]
recipe = "fast"
epochs = 1
minimum_tags = 1
[model]
architecture = "spans"
embedding_size = 4
spelling_size = 4
hidden_sizes = [4]
span_size = 4
"""
"""A configuration for ``rerank train``."""


def span_vocabulary(
    vector_words: tuple[str, ...] = ("we", "the", "man"),
    pieces: WordPieces | None = None,
    minimum_tags: int = 0,
) -> SpanVocabulary:
    trees = [linearize_tagged(Tree.from_string(text)) for text in CANDIDATES]
    return SpanVocabulary.build(trees, 2, vector_words, SPELLING_ROWS, pieces, minimum_tags)


def untrained_spans(
    seed: int,
    name: str = "",
    *,
    encoder: bool = False,
    distance_classes: int = 0,
    minimum_tags: int = 0,
) -> SpanCheckpoint:
    """Return a span model with random weights, large enough that candidates differ by whole nats.
    With ``distance_classes`` the encoder is of MPNet's kind; with ``minimum_tags``, it knows the
    tags that occur so often."""
    torch.manual_seed(seed)
    pieces = WordPieces(PIECES, 3) if encoder else None
    piece_config = PieceConfig(len(PIECES), 6, 8, 2, 2, 16, 3)
    piece_config = replace(piece_config, distance_classes=distance_classes)
    vocabulary = span_vocabulary(pieces=pieces, minimum_tags=minimum_tags)
    model = SpanModel(
        SpanConfig(
            vocabulary.word_count,
            vocabulary.vector_count,
            vocabulary.label_count,
            embedding_size=6,
            vector_size=4,
            spelling_rows=SPELLING_ROWS,
            spelling_size=5,
            hidden_sizes=(8, 7),
            span_size=9,
            encoder=piece_config if encoder else None,
            tag_count=vocabulary.tag_count,
        )
    )
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return SpanCheckpoint(
        name or f"spans-{seed}", model.requires_grad_(False).eval(), vocabulary, {}, f"{seed:064d}"
    )


def save_spans(
    path: Path, seed: int, information: dict[str, Any] | None = None, **options: Any
) -> str:
    """Save an untrained model for the built-in parser, and return its path. ``options`` are those
    of ``untrained_spans``."""
    member = untrained_spans(seed, **options)
    save_span_model(path, member.model, member.vocabulary, information or {}, torch.float32)
    return str(path)
