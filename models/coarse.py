"""A small stand-in for the output layer whose normaliser is never larger than the real one.

The most frequent symbols stay; the others are put into clusters, and a cluster becomes one symbol
worth no more than its members: with c = sum_v exp(b_v), Jensen's inequality gives

    sum_v exp(b_v + W_v k)  >=  c exp(sum_v (exp(b_v) / c) W_v k)   for every k.

So a log-probability computed with it is an upper bound, for a fifth of the work.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_FREQUENT, _CLUSTERS = 1_024, 512
_ROUNDS = 8


class Coarse(NamedTuple):
    """Stands in for the output weight [V, D] and bias [V]; its first rows are theirs."""

    weight: Tensor  # [V', D]
    bias: Tensor  # [V']
    share: float = 1.0  # V' / V


def coarse_output(
    weight: Tensor, bias: Tensor, frequent: int = _FREQUENT, clusters: int = _CLUSTERS
) -> Coarse | None:
    """The stand-in for ``weight`` [V, D] and ``bias`` [V], symbols most frequent first.

    None if it would save less than half of the vocabulary.
    """
    if len(weight) < 2 * (frequent + clusters):
        return None
    rare, rare_bias = weight[frequent:].double(), bias[frequent:].double()
    cluster = _clusters(rare, clusters)
    shares = rare_bias.exp()
    sums = torch.zeros_like(rare[:clusters, 0]).index_add_(0, cluster, shares)
    centers = torch.zeros_like(rare[:clusters]).index_add_(0, cluster, rare * shares.unsqueeze(1))
    used = sums > 0
    means, worth = centers[used] / sums[used].unsqueeze(1), sums[used].log()
    all_weight = torch.cat([weight[:frequent], means.to(weight)])
    all_bias = torch.cat([bias[:frequent], worth.to(bias)])
    return Coarse(all_weight, all_bias, len(all_bias) / len(bias))


def _clusters(points: Tensor, count: int) -> Tensor:
    """The cluster of each point: k-means from points evenly spread over the frequencies."""
    centers = points[torch.linspace(0, len(points) - 1, count).long()]
    for _ in range(_ROUNDS):
        nearest = torch.cdist(points, centers).argmin(1)
        sizes = torch.bincount(nearest, minlength=count).unsqueeze(1)
        sums = torch.zeros_like(centers).index_add_(0, nearest, points)
        centers = torch.where(sizes > 0, sums / sizes.clamp(min=1), centers)
    return nearest
