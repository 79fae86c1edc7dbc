"""The common part of all model files: data, never pickled objects; a format and its version,
weights, information about them, and a hash of everything."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from reranker.checkpoints.archive import Archive, read_archive, write_atomically
from reranker.checkpoints.strings import check_information
from reranker.errors import CheckpointError, lacks_memory
from reranker.languages import ENGLISH

if TYPE_CHECKING:
    from reranker.models import LanguageModel
    from reranker.models.encoder_decoder import EncoderDecoder
    from reranker.models.span_model import SpanModel

Model = TypeVar("Model", bound=nn.Module)
Words = TypeVar("Words")
_SCALE = "/scale"  # no parameter has a name with a slash
_ROUNDED = torch.int8, torch.uint8  # rows of integers with a scale
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
        language: str = self.information.get("language", ENGLISH)
        return language

    @property
    def parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


Made = TypeVar("Made", bound=Trained[Any, Any])


@dataclass(frozen=True, slots=True)
class Format(Generic[Made]):
    """A kind of file, the one version of it that is written and read, and the way between its
    content and a model."""

    name: str
    version: int
    made: type[Made]
    pack: Callable[[Any], Mapping[str, Any]]
    """Return the parts of the content that belong to a vocabulary."""
    unpack: Callable[[dict[str, Any], int, str], tuple[nn.Module, Any]]
    """Return the model and its vocabulary, from the content, the size of the file in bytes and the
    device. Raises one of several errors for parts that do not fit together."""
    title: str = "a checkpoint"
    others: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of files of other kinds, by their architecture."""

    def matches(self, content: Any) -> bool:
        """Return whether the content claims to be of this kind."""
        return isinstance(content, dict) and content.get("format") == self.name

    def save(
        self,
        path: Path,
        model: LanguageModel | SpanModel | EncoderDecoder,
        vocabulary: Any,
        information: Mapping[str, Any],
        dtype: torch.dtype = torch.float16,
    ) -> None:
        """Write the file, whole or not at all; weights are stored as ``dtype``."""
        content = {
            "format": self.name,
            "version": self.version,
            "architecture": model.architecture,
            "config": asdict(model.config),
            **self.pack(vocabulary),
            "weights": stored_weights(model, dtype),
            "information": information,
        }
        write_atomically(path, {**content, "sha256": content_sha256(content)})

    def load(self, path: str | os.PathLike[str], device: str = "cpu", sha256: str = "") -> Made:
        """Read a file; nothing in it is executed and no size that it claims is trusted.

        Raises CheckpointError, naming the file, if it is of another kind or version, if its parts
        do not fit together or were changed since they were saved, and if the file's SHA-256 is not
        ``sha256``, where one is given; MemoryError if memory does not suffice.
        """
        path = checked_path(path)
        return self.opened(path, read_archive(path, sha256), device)

    def opened(self, path: Path, archive: Archive, device: str = "cpu") -> Made:
        """Return the model in a file already read; raise what ``load`` raises."""
        content = archive.content
        if not self.matches(content):
            architecture = content.get("architecture") if isinstance(content, dict) else None
            reason = self.others.get(str(architecture), f"not {self.title} of `rerank train`")
            raise CheckpointError(f"{path}: {reason}")
        version = content.get("version")
        if type(version) is not int or version != self.version:
            raise CheckpointError(
                f"{path}: checkpoint version {version!s:.40}, this program reads {self.version}"
            )
        try:
            _check_hash(content, archive.size)
            model, vocabulary = self.unpack(content, archive.size, device)
            information = dict(content.get("information", {}))
            check_information(information)
        except _BROKEN as error:
            if lacks_memory(error):
                raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
            reason = str(error).split("\n")[0]
            raise CheckpointError(f"{path}: a broken checkpoint ({reason})") from error
        return self.made(path.name, model, vocabulary, information, archive.sha256)


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a checkpoint. Raises CheckpointError for anything else."""
    if not isinstance(path, str | os.PathLike):
        raise CheckpointError(f"expected the path of a checkpoint, got {path!r:.40}")
    return Path(path)


def saved_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings as they were before they were saved."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


def _check_hash(content: dict[str, Any], most_bytes: int) -> None:
    """Raise ValueError if the content has changed since it was saved."""
    saved = content.pop("sha256", None)
    if saved is None:
        raise ValueError("the hash of its content is missing")
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
    from -127 to 127 with a float32 scale (the largest absolute value in the row / 127), with uint8
    in 6 bits (``six_bits``); parameters that are not matrices are stored as float16."""
    stored: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().to("cpu")
        if dtype == torch.int8 and weight.dim() == 2:
            scale = weight.float().abs().amax(1) / 127
            rows = weight.float() / torch.where(scale > 0, scale, 1.0).unsqueeze(1)
            stored[name], stored[name + _SCALE] = rows.round().to(torch.int8), scale
        elif dtype == torch.uint8 and weight.dim() == 2:
            from reranker.checkpoints.six_bits import six_bits

            stored[name], stored[name + _SCALE] = six_bits(weight.float())
        else:
            stored[name] = weight.to(torch.float16 if dtype in _ROUNDED else dtype)
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
    shapes = {name: weight.shape for name, weight in model.named_parameters()}
    weights = {
        name: _restored(name, weight, stored, shapes[name]).to(device)
        for name, weight in stored.items()
        if not name.endswith(_SCALE)
    }
    model.load_state_dict(weights, assign=True)
    # A finite sum has finite terms; it takes a tenth of the time.
    if not all(each.sum().isfinite() or each.isfinite().all() for each in weights.values()):
        raise ValueError("a weight is not a finite number")
    return model.requires_grad_(False).eval()


def _restored(name: str, weight: Tensor, stored: Mapping[str, Tensor], shape: torch.Size) -> Tensor:
    if weight.is_floating_point():
        return weight.float()
    if weight.dtype not in _ROUNDED or weight.dim() != 2:
        raise TypeError(f"{name} holds {weight.dtype}, not floating-point numbers or int8")
    scale = stored[name + _SCALE]
    if scale.shape != weight.shape[:1] or not scale.is_floating_point():
        raise ValueError(f"the scales of {name} do not fit its rows")
    if weight.dtype == torch.uint8:
        from reranker.checkpoints.six_bits import integers_of

        weight = integers_of(weight, shape[-1])
    return weight.float().mul_(scale.float().unsqueeze(1))
