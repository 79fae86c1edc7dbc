"""The initial span model: a new one, with an encoder's weights if there is one, or a trained one
whose training continues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from reranker.checkpoints.span_file import load_span_model
from reranker.checkpoints.span_vocabulary import RARE_LABEL, UNKNOWN, AnyPieces, SpanVocabulary
from reranker.errors import ConfigError
from reranker.models.piece_encoder import PieceConfig
from reranker.models.span_model import SpanModel
from reranker.plugins.training.corpus.word_vectors import WordVectors
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from reranker.trees.linearize import TaggedTree


def new_model(
    config: SpanTrainingConfig,
    trees: Sequence[TaggedTree],
    vectors: WordVectors | None,
    encoder: PretrainedEncoder | None,
) -> tuple[SpanVocabulary, SpanModel]:
    """Return a model for the words, labels and tags of ``trees``."""
    known, values = _known_vectors(config, trees, vectors)
    if encoder:
        encoder = encoder.with_pieces_of(_words(trees), config.known_pieces)
    vocabulary = SpanVocabulary.build(
        trees,
        config.minimum_count,
        known,
        config.spelling_rows,
        encoder.pieces if encoder else None,
        config.minimum_tags,
    )
    pieces = encoder.config if encoder else None
    model = _model(config, vocabulary, values.shape[1], pieces)
    with torch.no_grad():
        model.vectors[1:] = values
    if encoder and model.encoder:
        model.encoder.load_state_dict(encoder.weights)
    return vocabulary, model


def extended_model(
    config: SpanTrainingConfig,
    trees: Sequence[TaggedTree],
    path: Path,
    encoder: PretrainedEncoder | None,
) -> tuple[SpanVocabulary, SpanModel]:
    """Return the model in ``path``, with rows for new words, labels and tags of ``trees`` and,
    where there is the ``encoder`` that the model's own started from, for their pieces. Raises
    CheckpointError unless the file is a span model, and ConfigError if its sizes differ from the
    configuration's or the encoder's."""
    checkpoint = load_span_model(path)
    before = checkpoint.model
    learned = before.state_dict()
    pieces, piece_config = checkpoint.vocabulary.pieces, before.config.encoder
    if encoder:
        if not (pieces and piece_config and _is_like(encoder, pieces, piece_config)):
            raise ConfigError(f"{path}: its encoder did not start from that of --encoder")
        encoder = encoder.with_pieces_of(_words(trees), config.known_pieces, pieces.pieces)
        learned["encoder.embedding"] = _with_learned(encoder, pieces, learned["encoder.embedding"])
        pieces, piece_config = encoder.pieces, encoder.config
    vocabulary = checkpoint.vocabulary.extended(
        trees, config.minimum_count, config.minimum_tags, pieces
    )
    model = _model(config, vocabulary, before.config.vector_size, piece_config)
    with torch.no_grad():
        # Labels that were rare are told apart from now on, and words that were unknown.
        model.output_bias.fill_(float(before.output_bias[RARE_LABEL]))
        model.embedding[:] = before.embedding[UNKNOWN]
        for name, weight in model.named_parameters():
            known = learned.get(name)
            if known is None:  # the first tags
                continue
            if known.shape[1:] != weight.shape[1:] or len(known) > len(weight):
                raise ConfigError(f"{path}: its {name} is {_size(known)}, but [model] makes it "
                                  f"{_size(weight)}")  # fmt: skip
            weight[: len(known)] = known
    return vocabulary, model


def _is_like(encoder: PretrainedEncoder, pieces: AnyPieces, config: PieceConfig) -> bool:
    """Return whether the two differ in nothing but their number of pieces and their dropout."""
    same = replace(encoder.config, piece_count=config.piece_count, dropout=config.dropout)
    return config == same and {*pieces.pieces} <= {*encoder.pieces.pieces}


def _with_learned(encoder: PretrainedEncoder, pieces: AnyPieces, learned: Tensor) -> Tensor:
    """Return the embeddings of the encoder's pieces, ``learned`` for those of ``pieces``."""
    rows = {piece: row for row, piece in enumerate(pieces.pieces)}
    embedding = encoder.weights["embedding"].clone()
    for row, piece in enumerate(encoder.pieces.pieces):
        if piece in rows:
            embedding[row] = learned[rows[piece]]
    return embedding


def _model(
    config: SpanTrainingConfig,
    vocabulary: SpanVocabulary,
    vector_size: int,
    encoder: PieceConfig | None,
) -> SpanModel:
    return SpanModel(
        config.model_config(
            vocabulary.word_count,
            vocabulary.vector_count,
            vocabulary.label_count,
            vector_size,
            encoder,
            vocabulary.tag_count,
        )
    )


def _words(trees: Iterable[TaggedTree]) -> Iterable[str]:
    return (word for tree in trees for word in tree.words)


def _size(weight: Tensor) -> str:
    return " x ".join(map(str, weight.shape))


def _known_vectors(
    config: SpanTrainingConfig, trees: Sequence[TaggedTree], vectors: WordVectors | None
) -> tuple[list[str], Tensor]:
    """Return the words whose vectors the checkpoint keeps, and the vectors [N, D], of unit
    variance: the words of the training trees, and the most frequent of the others."""
    if vectors is None:
        return [], torch.zeros(0, 1)
    seen = {word.lower() for word in _words(trees)}
    rows = range(len(vectors.words))
    first = sorted(rows, key=lambda row: (vectors.words[row] not in seen, row))
    kept = sorted(first[: config.known_vectors])
    values = vectors.vectors[kept].float()
    return [vectors.words[row] for row in kept], values / values.std().clamp(min=1e-6)
