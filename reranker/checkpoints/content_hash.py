"""A hash of a checkpoint's content that does not depend on how the file encodes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch


def content_sha256(content: Mapping[str, Any], most_bytes: int | None = None) -> str:
    """The SHA-256 of the content as JSON with sorted keys, each tensor as its type, its shape and
    the SHA-256 of its numbers.

    Raises ValueError once more than ``most_bytes`` would have to be hashed, since a list in a file
    can contain another one many times; TypeError for what is neither a tensor, a number, a string
    nor a container of these.
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
