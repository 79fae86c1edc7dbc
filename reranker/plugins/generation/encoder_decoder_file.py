"""A trained encoder-decoder and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.model_file import (
    Format,
    Trained,
    read_model,
    saved_settings,
    with_weights,
    write_model,
)
from reranker.errors import CheckpointError
from reranker.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reranker.plugins.generation.pair_vocabulary import PairVocabulary

FORMAT = Format("parse-reranker encoder-decoder", 2, hashed=2)  # before 2, a hash was not required


@dataclass(frozen=True, slots=True)
class Generator(Trained[EncoderDecoder, PairVocabulary]):
    """An encoder-decoder."""


def save_generator(
    path: Path,
    model: EncoderDecoder,
    vocabulary: PairVocabulary,
    information: dict[str, Any],
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write the checkpoint, whole or not at all; weights are stored as ``dtype``."""
    parts = {
        "task": vocabulary.task,
        "source_words": list(vocabulary.source_words),
        "source_pieces": list(vocabulary.source_pieces),
        "target": list(vocabulary.target),
        "merges": vocabulary.pieces.merges,
    }
    write_model(path, FORMAT, model, parts, information, dtype)


def load_generator(path: Path, device: str = "cpu") -> Generator:
    """Read a checkpoint; nothing in the file is executed and no size it claims is trusted.

    Raises CheckpointError, naming the file, if it is not an encoder-decoder of this program, or if
    its parts do not fit together or were changed since they were saved.
    """
    archive = read_archive(path)
    if not FORMAT.matches(archive.content):
        raise CheckpointError(f"{path}: not an encoder-decoder of `rerank train`")

    def unpack(content: dict[str, Any]) -> tuple[EncoderDecoder, PairVocabulary]:
        names = ("task", "source_words", "source_pieces", "target", "merges")
        vocabulary = PairVocabulary(*(content[name] for name in names))
        settings = saved_settings(content["config"])
        model = with_weights(
            lambda: EncoderDecoder(EncoderDecoderConfig(**settings)),
            content["weights"],
            archive.size,
            device,
        )
        sizes = (model.config.source_vocabulary_size, model.config.vocabulary_size)
        if sizes != (vocabulary.source_size, len(vocabulary.target)):
            raise ValueError("its vocabularies do not fit its embeddings")
        return model, vocabulary

    return Generator(*read_model(path, archive, FORMAT, unpack))


def load_generators(paths: Sequence[Path], device: str = "cpu") -> list[Generator]:
    """Load an ensemble. Raises CheckpointError as ``load_generator`` does, and for members whose
    vocabularies differ."""
    members = [load_generator(path, device) for path in paths]
    for path, member in zip(paths, members, strict=True):
        if member.vocabulary.digest != members[0].vocabulary.digest:
            raise CheckpointError(
                f"{path}: its vocabulary is not that of {paths[0]}; train them on the same data"
            )
    return members
