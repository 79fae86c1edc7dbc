"""A trial of rounded products, which are faster on some machines only."""

from __future__ import annotations

import math
import time
from functools import cache

import torch

from reranker.models.products import linear

_TRIALS = 7


def rough_type(device: torch.device) -> torch.dtype:
    """Return bfloat16 for a GPU and for a processor that is faster with it, else float32. Call it
    with one thread."""
    return torch.bfloat16 if device.type != "cpu" or bfloat16_pays() else torch.float32


@cache
def bfloat16_pays() -> bool:
    """Return whether bfloat16 products are faster here: twice, on processors that have them, and on
    others some five times slower."""
    rows, weight = torch.ones(64, 256), torch.ones(1_024, 256)
    contestants = [(rows, weight), (rows.bfloat16(), weight.bfloat16())]
    least = [math.inf, math.inf]
    with torch.inference_mode():
        for _ in range(_TRIALS):
            for number, given in enumerate(contestants):
                began = time.perf_counter()
                linear(*given)
                least[number] = min(least[number], time.perf_counter() - began)
    return least[1] < least[0]
