"""Scores and winners on a GPU are the CPU's: of every architecture, of span models, of ensembles
on one device and on two."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from reranker import Reranker
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import ARCHITECTURES
from reranker.models.products import eight_bits_work
from tests.gpu.places import (
    BOTH,
    DEVICE,
    IS_CUDA,
    ON_A_GPU,
    TOLERANCE,
    Scores,
    check_equal,
    lists,
    scores_of,
    winners,
)
from tests.models.settings import SETTINGS, architecture, larger

pytestmark = ON_A_GPU


@cache
def vocabulary() -> Vocabulary:
    tokens = (candidate.tokens for nbest in lists() for candidate in nbest.candidates)
    return Vocabulary.build(list(tokens), minimum_count=2)


def random_member(setting: str) -> Checkpoint:
    """Return a model with random weights, not so large that rounding grows from token to token."""
    config = replace(larger(setting), vocabulary_size=len(vocabulary()))
    model = ARCHITECTURES[architecture(setting)][1](config).eval().requires_grad_(False)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    return Checkpoint(setting, model, vocabulary())


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_architecture(setting: str) -> None:
    member = random_member(setting)
    with Reranker([member]) as there:
        expected = scores_of(there)
    moved = replace(member, model=deepcopy(member.model).to(DEVICE))
    with Reranker([moved], threads=1) as here:
        assert here.device == DEVICE
        check_equal(scores_of(here), expected)


@cache
def of_the_cpu(name: str) -> tuple[Scores, list[str | None]]:
    """Return an installed ensemble's scores, and the trees it chooses where only these are
    wanted."""
    with Reranker.load(name, device="cpu", precision="exact") as reranker:
        return scores_of(reranker), best_trees(reranker)


def best_trees(reranker: Reranker) -> list[str | None]:
    return [ranking.tree for ranking in reranker.rerank_lists(lists(), top=1)]


@pytest.mark.parametrize(
    ("name", "device"),
    [("fast", DEVICE), ("best", DEVICE), ("best", BOTH), ("doc", DEVICE), ("doc", BOTH)],
)
def test_ensembles(name: str, device: str) -> None:
    expected, trees = of_the_cpu(name)
    with Reranker.load(name, device=device, precision="exact") as reranker:
        places = {str(member.model.embedding.device) for member in reranker.members}
        assert places == set(device.split(","))
        check_equal(scores_of(reranker), expected)
        assert best_trees(reranker) == trees


def test_a_score_depends_on_the_tree_alone() -> None:
    with Reranker.load("best", device=DEVICE, precision="exact") as reranker:
        together = scores_of(reranker)
        for nbest, expected in zip(lists()[:5], together, strict=False):
            ((_, alone),) = reranker.score_lists([nbest])
            assert [-each.nll for each in alone] == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(("name", "members"), [("fast", 1), ("best", 2), ("doc", 5)])
def test_fast_scores_are_nearly_the_exact_ones(name: str, members: int) -> None:
    """On a GPU they are of float32."""
    expected, _ = of_the_cpu(name)
    with Reranker.load(name, device=DEVICE) as reranker:
        is_rounded = not IS_CUDA and eight_bits_work()
        assert reranker.precision == ("fast" if is_rounded else "exact")
        found = scores_of(reranker)
    most = TOLERANCE if IS_CUDA else 0.02 * members
    for winner, some, others in zip(winners(found), found, expected, strict=True):
        assert some == pytest.approx(others, abs=most)
        assert others[winner] > max(others) - 2 * most


@pytest.mark.skipif(not IS_CUDA, reason="this machine has no CUDA device")
def test_the_gpu_is_used_if_no_device_is_named() -> None:
    with Reranker.load("fast") as reranker:
        assert reranker.device.split(",")[0] == "cuda:0"
    assert not torch.backends.cuda.matmul.allow_tf32
