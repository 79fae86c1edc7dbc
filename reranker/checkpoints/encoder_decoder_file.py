"""A trained encoder-decoder and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import (
    BROKEN,
    check_hash,
    saved_settings,
)
from reranker.checkpoints.content_hash import content_sha256
from reranker.checkpoints.pair_vocabulary import PairVocabulary
from reranker.checkpoints.weights import stored_weights, with_weights
from reranker.errors import CheckpointError
from reranker.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig

FORMAT = "parse-reranker encoder-decoder"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Generator:
    """A model ready to generate (float32, evaluation mode) and what is known about it."""

    name: str
    model: EncoderDecoder
    vocabulary: PairVocabulary
    information: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""


def save_generator(
    path: Path,
    model: EncoderDecoder,
    vocabulary: PairVocabulary,
    information: dict[str, Any],
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write the checkpoint, whole or not at all; weights are stored as ``dtype``."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "architecture": model.architecture,
        "config": asdict(model.config),
        "task": vocabulary.task,
        "source_words": list(vocabulary.source_words),
        "source_pieces": list(vocabulary.source_pieces),
        "target": list(vocabulary.target),
        "merges": vocabulary.pieces.merges,
        "weights": stored_weights(model, dtype),
        "information": information,
    }
    write_atomically(path, {**content, "sha256": content_sha256(content)})


def load_generator(path: Path, device: str = "cpu") -> Generator:
    """Read a checkpoint; nothing in the file is executed and no size it claims is trusted.

    Raises CheckpointError, naming the file, if it is not an encoder-decoder of this program, or if
    its parts do not fit together or were changed since they were saved.
    """
    archive = read_archive(path)
    content = archive.content
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not an encoder-decoder of `rerank train`")
    if content.get("version") != VERSION:
        version = content.get("version")
        raise CheckpointError(
            f"{path}: checkpoint version {version!s:.40}, this program reads {VERSION}"
        )
    try:
        check_hash(content, archive.size)
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
        information = dict(content["information"])
    except BROKEN as error:
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path}: a broken checkpoint ({reason})") from error
    return Generator(path.name, model, vocabulary, information, archive.sha256)


def load_generators(paths: Sequence[Path], device: str = "cpu") -> list[Generator]:
    """An ensemble. Raises CheckpointError as ``load_generator`` does, and for members whose
    vocabularies differ."""
    members = [load_generator(path, device) for path in paths]
    for path, member in zip(paths, members, strict=True):
        if member.vocabulary.digest != members[0].vocabulary.digest:
            raise CheckpointError(
                f"{path}: its vocabulary is not that of {paths[0]}; train them on the same data"
            )
    return members
