"""The members of an ensemble: language models and span models, each in its file."""

from __future__ import annotations

import os
from pathlib import Path

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import Checkpoint, opened_checkpoint
from reranker.checkpoints.span_file import FORMAT as SPANS
from reranker.checkpoints.span_file import SpanCheckpoint, opened_span_model
from reranker.errors import CheckpointError

LoadedMember = Checkpoint | SpanCheckpoint


def load_member(path: str | os.PathLike[str], sha256: str = "") -> LoadedMember:
    """Read a member of either kind. Raises CheckpointError as ``load_checkpoint`` does."""
    if not isinstance(path, str | os.PathLike):
        raise CheckpointError(f"expected the path of a checkpoint, got {path!r:.40}")
    path = Path(path)
    archive = read_archive(path, sha256)
    if SPANS.matches(archive.content):
        return opened_span_model(path, archive)
    return opened_checkpoint(path, archive)
