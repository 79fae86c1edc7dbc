"""A run that is killed and resumed, beside one that is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
import torch

import reranker.plugins.training.loop.train as training
from reranker.checkpoints.archive import read_archive
from reranker.plugins.training.loop.run import Progress
from tests.reranker.plugins.training.runs import log


class Killed(Exception):
    pass


def check_resumed(
    train: Callable[..., float],
    folder: Path,
    tolerance: float = 0.0,
    saved_after: Sequence[int] = (7,),
) -> Path:
    """Kill a run three batches after its state was saved, after each of so many; resume it, and see
    that it ends as one that ran through: with the same log and weights to the last bit, or weights
    up to a ``tolerance``, and the same perplexity. ``train`` takes the checkpoint, the log folder
    and ``report``. Returns the checkpoint."""
    seen: list[int] = []

    def watch(progress: Progress, loss: float, done: float) -> None:
        seen.append(progress.batches)

    def kill(saved: int, progress: Progress, loss: float, done: float) -> None:
        training.STATE_INTERVAL = -1 if progress.batches == saved else math.inf
        if progress.batches == saved + 3:
            raise Killed

    paths = folder / "resumed.pt", folder / "whole.pt"
    interval = training.STATE_INTERVAL
    try:
        for saved in saved_after:
            with pytest.raises(Killed):
                train(paths[0], folder / "resumed", report=partial(kill, saved))
            assert not paths[0].exists()
    finally:
        training.STATE_INTERVAL = interval
    perplexities = [train(path, path.with_suffix(""), report=watch) for path in paths]
    assert seen[0] == saved_after[-1] + 1, "it did not start from the beginning"
    if not tolerance:
        assert log(folder / "resumed") == log(folder / "whole")
    assert perplexities[0] == pytest.approx(perplexities[1], rel=tolerance, abs=0)
    weights, expected = (read_archive(path).content["weights"] for path in paths)
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        assert torch.allclose(weight, expected[name], rtol=0, atol=tolerance), name
    return paths[0]
