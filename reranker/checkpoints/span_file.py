"""A trained span model and its vocabulary in one file: data, never pickled objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from reranker.checkpoints.archive import Archive, read_archive, write_atomically
from reranker.checkpoints.checkpoint import BROKEN, check_hash, saved_settings
from reranker.checkpoints.content_hash import content_sha256
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.checkpoints.weights import stored_weights, with_weights
from reranker.errors import CheckpointError
from reranker.models.span_model import SpanConfig, SpanModel

FORMAT = "parse-reranker span model"
VERSION = 1
_LISTS = ("words", "vector_words", "labels")


@dataclass(frozen=True, slots=True)
class SpanCheckpoint:
    """A model ready to score (float32, evaluation mode) and what is known about it."""

    name: str
    model: SpanModel
    vocabulary: SpanVocabulary
    information: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


def save_span_model(
    path: Path,
    model: SpanModel,
    vocabulary: SpanVocabulary,
    information: dict[str, Any],
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write the checkpoint, whole or not at all; weights are stored as ``dtype``."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "architecture": model.architecture,
        "config": asdict(model.config),
        # Long texts: a list of so many words would take several times the space.
        **{name: "\n".join(getattr(vocabulary, name)) for name in _LISTS},
        "weights": stored_weights(model, dtype),
        "information": information,
    }
    write_atomically(path, {**content, "sha256": content_sha256(content)})


def load_span_model(path: Path, device: str = "cpu", sha256: str = "") -> SpanCheckpoint:
    """Read a checkpoint; nothing in the file is executed and no size it claims is trusted.

    Raises CheckpointError, naming the file, if it is not a span model of this program, if its parts
    do not fit together or were changed since they were saved, and if the file's SHA-256 is not
    ``sha256``, where one is given.
    """
    archive = read_archive(path, sha256)
    if not is_span_model(archive.content):
        raise CheckpointError(f"{path}: not a span model of `rerank train`")
    return opened_span_model(path, archive, device)


def is_span_model(content: Any) -> bool:
    """Whether a file with this content says that it is one."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def opened_span_model(path: Path, archive: Archive, device: str = "cpu") -> SpanCheckpoint:
    """The span model in a file that was read; raises CheckpointError as ``load_span_model``."""
    content: Mapping[str, Any] = archive.content
    if content.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: span model version {content.get('version')!s:.40}, this program reads "
            f"{VERSION}"
        )
    try:
        check_hash(archive.content, archive.size)
        config = SpanConfig(**saved_settings(content["config"]))
        counts = config.word_count - 3, config.vector_count - 1, config.label_count - 2
        words, vector_words, labels = (
            _lines(content[name], count) for name, count in zip(_LISTS, counts, strict=True)
        )
        vocabulary = SpanVocabulary(words, vector_words, labels, config.spelling_rows)
        sizes = vocabulary.word_count, vocabulary.vector_count, vocabulary.label_count
        assert sizes == (config.word_count, config.vector_count, config.label_count)
        model = with_weights(lambda: SpanModel(config), content["weights"], archive.size, device)
        information = dict(content["information"])
    except BROKEN as error:
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path}: a broken checkpoint ({reason})") from error
    return SpanCheckpoint(path.name, model, vocabulary, information, archive.sha256)


def _lines(text: Any, count: int) -> list[str]:
    """Raises TypeError or ValueError for what ``save_span_model`` never writes."""
    if not isinstance(text, str):
        raise TypeError("its words or labels are not text")
    if count > MOST_CLASSED or text.count("\n") + 1 != max(1, count) or bool(text) != bool(count):
        raise ValueError("its words, vectors and labels do not fit its weights")
    return text.split("\n") if text else []
