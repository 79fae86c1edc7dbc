"""The checkpoints that may be loaded, by the SHA-256 of their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from reranker.errors import InputError
from reranker.files.opening import file_sha256

MOST_BYTES = 1 << 36
"""The largest checkpoint: a larger file is a hole, not weights."""

_PIN = re.compile(r"[0-9a-f]{8,64}")


def pinned(paths: Sequence[Path], pins: Iterable[str]) -> tuple[str, ...]:
    """Return the full hash of each file, if each matches one of the ``pins``, in any order: full
    hashes, or their first 8 digits or more.

    Raises InputError, naming file and hashes, for a file without a pin, a pin without a file, and a
    pin that is not a hash.
    """
    left = sorted(map(_checked, pins), key=len, reverse=True)
    digests = tuple(file_sha256(path, MOST_BYTES) for path in paths)
    for path, digest in zip(paths, digests, strict=True):
        mine = next((pin for pin in left if digest.startswith(pin)), None)
        if mine is None:
            expected = f"one of {', '.join(left)}" if left else "one of those given, all used up"
            raise InputError(f"{path}: its SHA-256 is {digest}, not {expected}")
        left.remove(mine)
    if left:
        raise InputError(
            f"no checkpoint has SHA-256 {', '.join(left)}: "
            + ", ".join(f"{path} has {digest}" for path, digest in zip(paths, digests, strict=True))
        )
    return digests


def _checked(pin: str) -> str:
    if not isinstance(pin, str) or not _PIN.fullmatch(pin.lower()):
        raise InputError(
            f"{pin!r:.80} is not a SHA-256: give its 64 hexadecimal digits, or at least the first 8"
        )
    return pin.lower()
