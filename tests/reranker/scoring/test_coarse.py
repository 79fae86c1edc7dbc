from __future__ import annotations

import pytest
import torch

from reranker.scoring.winner import coarse_output


def output(size: int, dimensions: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(size)
    weight = torch.randn(size, dimensions, generator=generator)
    return weight, torch.randn(size, generator=generator)


@pytest.mark.parametrize("scale", [0.01, 1.0, 4.0])
def test_normaliser_is_never_above_the_real_one(scale: float) -> None:
    weight, bias = output(300)
    coarse = coarse_output(weight, bias, frequent=40, clusters=60)
    assert coarse is not None
    k = scale * torch.randn(500, 8, generator=torch.Generator().manual_seed(1))
    real = torch.logsumexp(k @ weight.T + bias, 1)
    found = torch.logsumexp(k @ coarse.weight.T + coarse.bias, 1)
    assert bool((found <= real + 1e-5).all())
    truncated = torch.logsumexp(k @ weight[:40].T + bias[:40], 1)
    assert float((real - found).mean()) < 0.6 * float((real - truncated).mean())


def test_two_words_in_one_cluster_by_hand() -> None:
    # One frequent word; the two rare ones, worth 1 and 3, become one of 4 at their weighted mean.
    weight = torch.tensor([[9.0], [0.0], [8.0], [100.0], [100.0], [100.0]])
    bias = torch.tensor([0.0, 0.0, 3.0, 0.0, 0.0, 0.0]).exp().log()
    bias[2] = torch.tensor(3.0).log()
    coarse = coarse_output(weight, bias, frequent=1, clusters=2)
    assert coarse is not None
    assert coarse.weight.flatten().tolist() == pytest.approx([9, 6, 100])
    assert coarse.bias.exp().tolist() == pytest.approx([1, 4, 3])


def test_a_cluster_of_equal_words_loses_nothing() -> None:
    weight, bias = torch.ones(50, 3), torch.zeros(50)
    coarse = coarse_output(weight, bias, frequent=5, clusters=4)
    assert coarse is not None
    assert float(coarse.bias.exp().sum()) == pytest.approx(50)


def test_small_vocabularies_have_none() -> None:
    assert coarse_output(*output(199), frequent=40, clusters=60) is None
    assert coarse_output(*output(200), frequent=40, clusters=60) is not None
