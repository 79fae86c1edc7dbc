"""A run that is killed and resumed, beside one that is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import reranker.plugins.training.loop as training
from reranker.checkpoints.archive import read_archive
from reranker.plugins.training.run import Progress

SAVED_AT, KILLED_AT = 7, 9  # batches


class Killed(Exception):
    pass


def check_resumed(train: Callable[..., float], folder: Path, tolerance: float = 0.0) -> Path:
    """Kill a run, resume it, and see that it ends as one that ran through: with the same weights to
    the last bit, or up to a ``tolerance``, and the same perplexity. ``train`` takes the checkpoint,
    the log folder and ``report``. Returns the checkpoint."""

    def kill(progress: Progress, loss: float, done: float) -> None:
        training.STATE_INTERVAL = -1 if progress.batches == SAVED_AT else math.inf
        if progress.batches == KILLED_AT:
            raise Killed

    paths = folder / "resumed.pt", folder / "whole.pt"
    interval = training.STATE_INTERVAL
    try:
        with pytest.raises(Killed):
            train(paths[0], folder / "resumed", report=kill)
    finally:
        training.STATE_INTERVAL = interval
    perplexities = [train(path, path.with_suffix("")) for path in paths]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=tolerance, abs=0)
    weights, expected = (read_archive(path).content["weights"] for path in paths)
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        assert torch.allclose(weight, expected[name], rtol=0, atol=tolerance), name
    return paths[0]
