"""Checkpoints for the tests of commands."""

from __future__ import annotations

import pytest
import torch

from reranker.checkpoints.checkpoint import save_checkpoint
from tests.reranker.ensembles import untrained


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two untrained checkpoints."""
    folder = tmp_path_factory.mktemp("checkpoints")
    paths = []
    for seed in (1, 2):
        member = untrained(seed)
        path = folder / f"model-{seed}.pt"
        save_checkpoint(path, member.model, member.vocabulary, {}, torch.float32)
        paths.append(str(path))
    return paths
