"""Digests that identify a file, whatever its name."""

from __future__ import annotations

import hashlib
import os

from reranker.errors import InputError
from reranker.files.opening import open_file


def text_digest(*parts: str) -> str:
    """Return a short hash of texts and their order."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def file_sha256(path: str | os.PathLike[str], most: int | None = None) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal. Raises InputError if the file cannot
    be read or has more than ``most`` bytes."""
    try:
        with open_file(path, most=most) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
