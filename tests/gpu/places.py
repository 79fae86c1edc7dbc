"""The GPU that these tests compare with the CPU, and the lists that both score.

``GPU_TESTS_DEVICE=cpu`` puts the CPU in the GPU's place, so that the code of the tests runs on any
machine; it says nothing about a GPU.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import pytest
import torch

from reranker import Reranker
from reranker.nbest import NBest, read_nbest
from tests.checkout import ROOT

DEVICE = os.environ.get("GPU_TESTS_DEVICE", "cuda:0")
IS_CUDA = DEVICE != "cpu"
BOTH = f"cpu,{DEVICE}"
EXAMPLES = ROOT / "examples"

TOLERANCE = 1e-3
"""The most nats by which two scores of a tree may differ: float32 sums in another order."""

ON_A_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        IS_CUDA and not torch.cuda.is_available(),
        reason="this machine has no CUDA device; GPU_TESTS_DEVICE=cpu puts the CPU in its place",
    ),
]

_LISTS, _CANDIDATES = (40, 10) if IS_CUDA else (3, 8)


@cache
def lists() -> list[NBest]:
    """Return 40 lists, on a GPU: the first 10 candidates of each example, then others of some."""
    whole = list(read_nbest(EXAMPLES / "parses.txt"))
    parts = [
        replace(nbest, candidates=nbest.candidates[first : first + _CANDIDATES])
        for first in (0, _CANDIDATES)
        for nbest in whole
    ]
    return parts[:_LISTS]


Scores = list[list[float]]


def scores_of(reranker: Reranker) -> Scores:
    """Return the log-probability of each candidate of each list, in nats."""
    return [[-each.nll for each in scored] for _, scored in reranker.score_lists(lists())]


def check_equal(found: Scores, expected: Scores) -> None:
    """Check that scores are the same but for rounding, and that the same candidates win."""
    pairs = zip(found, expected, strict=True)
    differences = [
        abs(one - other) for some, others in pairs for one, other in zip(some, others, strict=True)
    ]
    assert max(differences) <= TOLERANCE
    assert winners(found) == winners(expected)


def winners(scores: Scores) -> list[int]:
    """Return the place of the best candidate of each list."""
    return [max(range(len(some)), key=some.__getitem__) for some in scores]
