"""A trained encoder-decoder and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reranker.checkpoints.model_file import Format, Trained, saved_settings, with_weights
from reranker.checkpoints.strings import check_labels_of, check_words
from reranker.errors import CheckpointError
from reranker.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reranker.plugins.generation.pair_vocabulary import PairVocabulary


@dataclass(frozen=True, slots=True)
class Generator(Trained[EncoderDecoder, PairVocabulary]):
    """An encoder-decoder."""


def _pack(vocabulary: PairVocabulary) -> dict[str, Any]:
    return {
        "task": vocabulary.task,
        "source_words": list(vocabulary.source_words),
        "source_pieces": list(vocabulary.source_pieces),
        "target": list(vocabulary.target),
        "merges": vocabulary.pieces.merges,
    }


def _unpack(
    content: dict[str, Any], size: int, device: str
) -> tuple[EncoderDecoder, PairVocabulary]:
    names = ("task", "source_words", "source_pieces", "target", "merges")
    vocabulary = PairVocabulary(*(content[name] for name in names))
    check_words(vocabulary.target)
    if vocabulary.task == "parsing":
        check_labels_of(vocabulary.target)
    config = EncoderDecoderConfig(**saved_settings(content["config"]))
    model = with_weights(lambda: EncoderDecoder(config), content["weights"], size, device)
    sizes = (config.source_vocabulary_size, config.vocabulary_size)
    if sizes != (vocabulary.source_size, len(vocabulary.target)):
        raise ValueError("its vocabularies do not fit its embeddings")
    return model, vocabulary


FORMAT = Format(
    "parse-reranker encoder-decoder",
    version=2,
    made=Generator,
    pack=_pack,
    unpack=_unpack,
    title="an encoder-decoder",
)
save_generator, load_generator = FORMAT.save, FORMAT.load


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
