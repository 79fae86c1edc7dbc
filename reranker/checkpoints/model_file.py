"""The common part of all model files: data, never pickled objects; a format and its version,
weights, information about them, and a hash of everything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from reranker.checkpoints.archive import Archive, write_atomically
from reranker.errors import CheckpointError, lacks_memory
from reranker.languages import ENGLISH

if TYPE_CHECKING:
    from reranker.models import LanguageModel
    from reranker.models.encoder_decoder import EncoderDecoder
    from reranker.models.span_model import SpanModel

Model = TypeVar("Model", bound=nn.Module)
Words = TypeVar("Words")
_SCALE = "/scale"  # no parameter has a name with a slash
# The errors that inconsistent content can raise.
_BROKEN = LookupError, ArithmeticError, TypeError, ValueError, AttributeError, RuntimeError


@dataclass(frozen=True, slots=True)
class Trained(Generic[Model, Words]):
    """A model ready to use (float32, evaluation mode) and its description."""

    name: str
    model: Model
    vocabulary: Words
    information: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def language(self) -> str:
        """Return the code of the model's language."""
        language = self.information.get("language", ENGLISH)
        return language if isinstance(language, str) else ENGLISH

    @property
    def parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


class Format(NamedTuple):
    """A kind of file and the version that is written. All versions from 1 up are read; versions
    from ``hashed`` up need the hash of their content, which older files may lack."""

    name: str
    version: int
    hashed: int

    def matches(self, content: Any) -> bool:
        """Return whether the content claims to be of this kind."""
        return isinstance(content, dict) and content.get("format") == self.name


def write_model(
    path: Path,
    kind: Format,
    model: LanguageModel | SpanModel | EncoderDecoder,
    parts: Mapping[str, Any],
    information: Mapping[str, Any],
    dtype: torch.dtype,
) -> None:
    """Write the file, whole or not at all. ``parts`` belong to the vocabulary; weights are stored
    as ``dtype``."""
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
    """Return the fields of a ``Trained`` from a file of this kind; ``unpack`` builds the model and
    its vocabulary from the file's content. Raises CheckpointError, naming the file, for another
    version, for parts that do not fit together, and for content changed since it was saved;
    MemoryError if memory does not suffice."""
    content: dict[str, Any] = archive.content
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= kind.version:
        readable = "1" if kind.version == 1 else f"1 to {kind.version}"
        raise CheckpointError(
            f"{path}: checkpoint version {version!s:.40}, this program reads {readable}"
        )
    try:
        _check_hash(content, archive.size, is_required=version >= kind.hashed)
        model, vocabulary = unpack(content)
        information = dict(content.get("information", {}))
    except _BROKEN as error:
        if lacks_memory(error):
            raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path}: a broken checkpoint ({reason})") from error
    return path.name, model, vocabulary, information, archive.sha256


def saved_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings as they were before they were saved."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


def _check_hash(content: dict[str, Any], most_bytes: int, *, is_required: bool) -> None:
    """Raise ValueError if the content has changed since it was saved."""
    saved = content.pop("sha256", None)
    if saved is None:
        if is_required:
            raise ValueError("the hash of its content is missing")
        return
    now = content_sha256(content, 4 * most_bytes)  # numbers may be longer as JSON
    if now != saved:
        raise ValueError(f"its content has SHA-256 {now}, but was saved with {saved!s:.64}")


def content_sha256(content: Mapping[str, Any], most_bytes: int | None = None) -> str:
    """Return the SHA-256 of the content, however the file encodes it: as JSON with sorted keys,
    each tensor as its type, its shape and the SHA-256 of its numbers.

    Raises ValueError once more than ``most_bytes`` would have to be hashed, since a list in a file
    can contain another one many times; TypeError for anything but tensors, numbers, strings and
    containers of these.
    """
    hashed = 0
    digest = hashlib.sha256()

    def count(size: int) -> None:
        nonlocal hashed
        hashed += size
        if most_bytes is not None and hashed > most_bytes:
            raise ValueError("its content claims to be larger than the file")

    def described(value: Any) -> dict[str, Any]:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"a {type(value).__name__} in a checkpoint")
        count(value.nbytes)
        numbers = value.contiguous().reshape(-1).view(torch.uint8).numpy().data
        return {
            "dtype": str(value.dtype),
            "shape": [*value.shape],
            "sha256": hashlib.sha256(numbers).hexdigest(),
        }

    encoder = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=described)
    for piece in encoder.iterencode(content):
        count(len(piece))
        digest.update(piece.encode(errors="surrogatepass"))
    return digest.hexdigest()


def stored_weights(model: nn.Module, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the parameters as ``dtype``. With int8, each row of a matrix is stored as integers
    from -127 to 127 with a float32 scale (the largest absolute value in the row / 127); parameters
    that are not matrices are stored as float16."""
    stored: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().to("cpu")
        if dtype == torch.int8 and weight.dim() == 2:
            scale = weight.float().abs().amax(1) / 127
            rows = weight.float() / torch.where(scale > 0, scale, 1.0).unsqueeze(1)
            stored[name], stored[name + _SCALE] = rows.round().to(torch.int8), scale
        else:
            stored[name] = weight.to(torch.float16 if dtype == torch.int8 else dtype)
    return stored


def with_weights(
    make: Callable[[], Model], stored: Mapping[str, Tensor], most_bytes: int, device: str
) -> Model:
    """Return a model with these weights, in evaluation mode. Raises one of several errors for
    broken weights."""
    # On the meta device any size costs nothing: the weights decide the allocation.
    with torch.device("meta"):
        model = make()
    if sum(weight.nbytes for weight in stored.values()) > most_bytes:
        raise ValueError("its weights claim to be larger than the file")
    weights = {
        name: _restored(name, weight, stored).to(device)
        for name, weight in stored.items()
        if not name.endswith(_SCALE)
    }
    model.load_state_dict(weights, assign=True)
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise ValueError("a weight is not a finite number")
    return model.requires_grad_(False).eval()


def _restored(name: str, weight: Tensor, stored: Mapping[str, Tensor]) -> Tensor:
    if weight.is_floating_point():
        return weight.float()
    if weight.dtype != torch.int8:
        raise TypeError(f"{name} holds {weight.dtype}, not floating-point numbers or int8")
    scale = stored[name + _SCALE]
    if weight.dim() != 2 or scale.shape != weight.shape[:1] or not scale.is_floating_point():
        raise ValueError(f"the scales of {name} do not fit its rows")
    return weight.float() * scale.float().unsqueeze(1)
