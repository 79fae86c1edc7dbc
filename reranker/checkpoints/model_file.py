"""The common part of all model files: data, never pickled objects; a format and its version,
weights, information about them, and a hash of everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import nn

from reranker.checkpoints.archive import Archive, write_atomically
from reranker.checkpoints.content_hash import content_sha256
from reranker.checkpoints.weights import stored_weights
from reranker.errors import CheckpointError, lacks_memory
from reranker.models import LanguageModel
from reranker.models.encoder_decoder import EncoderDecoder
from reranker.models.span_model import SpanModel

Model = TypeVar("Model", bound=nn.Module)
Words = TypeVar("Words")
# What content that does not fit together can raise.
_BROKEN = LookupError, ArithmeticError, TypeError, ValueError, AttributeError, RuntimeError


@dataclass(frozen=True, slots=True)
class Trained(Generic[Model, Words]):
    """A model ready to use (float32, evaluation mode) and what is known about it."""

    name: str
    model: Model
    vocabulary: Words
    information: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


class Format(NamedTuple):
    """A kind of file and the version that is written; all from 1 up are read, and this one only
    with the hash of its content, which older files may lack."""

    name: str
    version: int

    def matches(self, content: Any) -> bool:
        """Whether the content claims to be of this kind."""
        return isinstance(content, dict) and content.get("format") == self.name


def write_model(
    path: Path,
    kind: Format,
    model: LanguageModel | SpanModel | EncoderDecoder,
    parts: Mapping[str, Any],
    information: Mapping[str, Any],
    dtype: torch.dtype,
) -> None:
    """Write the file, whole or not at all. ``parts`` are those of the vocabulary; weights are
    stored as ``dtype``."""
    content = {
        "format": kind.name,
        "version": kind.version,
        "architecture": model.architecture,
        "config": asdict(model.config),
        **parts,
        "weights": stored_weights(model, dtype),
        "information": information,
    }
    write_atomically(path, {**content, "sha256": content_sha256(content)})


def read_model(
    path: Path,
    archive: Archive,
    kind: Format,
    unpack: Callable[[dict[str, Any]], tuple[Model, Words]],
) -> tuple[str, Model, Words, dict[str, Any], str]:
    """The fields of a ``Trained`` from a file of this kind; ``unpack`` builds the model and its
    vocabulary from the file's content. Raises CheckpointError, naming the file, for another
    version, for parts that do not fit together, and for content that was changed since it was
    saved; MemoryError if memory does not suffice."""
    content: dict[str, Any] = archive.content
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= kind.version:
        readable = "1" if kind.version == 1 else f"1 to {kind.version}"
        raise CheckpointError(
            f"{path}: checkpoint version {version!s:.40}, this program reads {readable}"
        )
    try:
        _check_hash(content, archive.size, is_required=version == kind.version)
        model, vocabulary = unpack(content)
        information = dict(content.get("information", {}))
    except _BROKEN as error:
        if lacks_memory(error):
            raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path}: a broken checkpoint ({reason})") from error
    return path.name, model, vocabulary, information, archive.sha256


def saved_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A model's settings as they were before they were saved."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


def _check_hash(content: dict[str, Any], most_bytes: int, *, is_required: bool) -> None:
    """Raises ValueError if the content is not the one that was saved."""
    saved = content.pop("sha256", None)
    if saved is None:
        if is_required:
            raise ValueError("the hash of its content is missing")
        return
    now = content_sha256(content, 4 * most_bytes)  # as JSON, numbers may be longer than they were
    if now != saved:
        raise ValueError(f"its content has SHA-256 {now}, but was saved with {saved!s:.64}")
