"""Checkpoints with altered content and the hash of just this content."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reranker.checkpoints.archive import write_atomically
from reranker.checkpoints.model_file import content_sha256

MOST_BYTES = 100_000_000


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint whose hash is right, or of zeros where content cannot be hashed."""
    content = {name: part for name, part in content.items() if name != "sha256"}
    try:
        sha256 = content_sha256(content, MOST_BYTES)
    except (TypeError, ValueError, RuntimeError):
        sha256 = "0" * 64
    write_atomically(path, {**content, "sha256": sha256})
