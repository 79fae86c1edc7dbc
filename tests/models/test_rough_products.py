"""Rounded products are used where they are faster."""

from __future__ import annotations

import timeit

import torch
from torch import Tensor

from reranker.models.products import linear
from reranker.models.rough_products import bfloat16_pays


def test_bfloat16_pays_where_it_is_faster() -> None:
    """A run of many products says the same as the trial, unless both are about as fast."""
    rows, weight = torch.ones(512, 512), torch.ones(1_024, 512)
    seconds = [least_seconds(rows, weight), least_seconds(rows.bfloat16(), weight.bfloat16())]
    assert seconds[1] < 1.4 * seconds[0] if bfloat16_pays() else seconds[0] < 1.4 * seconds[1]


def least_seconds(rows: Tensor, weight: Tensor) -> float:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            return min(timeit.repeat(lambda: linear(rows, weight), number=1, repeat=5))
    finally:
        torch.set_num_threads(threads)
