"""A batch cut into shards, so that any number of processes computes the same gradient.

Shard k of S has columns k, k + S, k + 2 S ... of a batch, random numbers of its own, which depend
on the seed, the batch's number and k alone, and a state of its own that is carried to its next
batch. Process r of N computes the shards from r S / N to (r + 1) S / N, one after the other. The
gradient of the batch is the mean of the shards', weighted by tokens, and the sum is always added up
in the same order: in pairs, pairs of pairs, and so on. So the number of processes changes nothing,
not even the last bit, as long as each computes with the same number of threads.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from reranker.models.batch import Batch
from reranker.plugins.training.loop.run import Run
from reranker.plugins.training.processes import Processes


def backward(run: Run, batch: Batch) -> tuple[float, int]:
    """Set the gradients of the whole batch; return the loss in nats per token, and the tokens."""
    shards = run.config.shards
    parameters = _trained(run)
    sums = PairwiseSum(shards)
    for shard in own_shards(run.processes, shards):
        sums.add(Node(0, shard), _weighted_gradient(run, batch, shard))
        run.model.zero_grad(set_to_none=True)
    total = sums.total(run.processes)
    loss, tokens, weight = total[-3:].tolist()
    mean = total[:-3].div_(max(1.0, weight))
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, gradient in zip(parameters, torch.split(mean, sizes), strict=True):
        parameter.grad = gradient.view_as(parameter)
    return loss / max(1.0, tokens), int(tokens)


def _trained(run: Run) -> list[Tensor]:
    return [parameter for parameter in run.model.parameters() if parameter.requires_grad]


def own_shards(processes: Processes, shards: int, rank: int | None = None) -> range:
    """Return the shards that process ``rank``, by default this one, computes."""
    rank = processes.rank if rank is None else rank
    return range(rank * shards // processes.size, (rank + 1) * shards // processes.size)


def _weighted_gradient(run: Run, batch: Batch, shard: int) -> Tensor:
    """Return a vector [P + 3]: the gradients of all parameters times the shard's weight, its summed
    loss, its tokens, its weight; all zero if the batch has too few columns for this shard."""
    parameters = _trained(run)
    part = run.shard(batch, shard)
    if part is None:
        return parameters[0].new_zeros(sum(map(Tensor.numel, parameters)) + 3)
    torch.manual_seed(_seed(run.config.seed, run.progress.batches, shard))
    run.carried = run.carried_shards.get(shard)
    loss, tokens = run.backward(part)
    if run.carried is not None:
        run.carried_shards[shard] = run.carried
    weight = run.weight(part)
    gradients = [
        (torch.zeros_like(each) if each.grad is None else each.grad).flatten()
        for each in parameters
    ]
    vector = torch.cat([*gradients, gradients[0].new_zeros(3)])
    vector[:-3] *= weight
    vector[-3:] = torch.tensor([loss * tokens, tokens, weight])
    return vector


def _seed(seed: int, step: int, shard: int) -> int:
    digest = hashlib.sha256(f"{seed} {step} {shard}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class Node(NamedTuple):
    """The sum of the terms from ``place`` 2^``level`` to before (``place`` + 1) 2^``level``."""

    level: int
    place: int


class PairwiseSum:
    """The sum of ``count`` vectors, always added in the same order, wherever they come from.

    >>> sums = PairwiseSum(3)
    >>> for number in range(3):
    ...     sums.add(Node(0, number), torch.tensor([float(10**number)]))
    >>> sums.total(Processes())
    tensor([111.])
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.parts: dict[Node, Tensor] = {}

    def add(self, node: Node, vector: Tensor) -> None:
        """Add a term, Node(0, its number), or a partial sum; ``vector`` is overwritten."""
        while node.place or (1 << node.level) < self.count:
            other = Node(node.level, node.place ^ 1)
            if other.place << other.level < self.count:  # there are such terms
                if other not in self.parts:
                    break
                vector += self.parts.pop(other)
            node = Node(node.level + 1, node.place >> 1)
        self.parts[node] = vector

    def total(self, processes: Processes) -> Tensor:
        """Return the whole sum, in every process; each must have added the terms ``own_shards``.

        Each process adds up one piece of the vector.
        """
        if processes.size == 1:
            (total,) = self.parts.values()
            return total
        nodes = [self._nodes(own_shards(processes, self.count, r)) for r in range(processes.size)]
        length = len(next(iter(self.parts.values())))
        piece = -(-length // processes.size)
        sent = next(iter(self.parts.values())).new_zeros(
            processes.size, max(map(len, nodes)), piece
        )
        for number, node in enumerate(nodes[processes.rank]):
            padded = functional.pad(self.parts[node], (0, piece * processes.size - length))
            sent[:, number] = padded.view(processes.size, piece)
        sums = PairwiseSum(self.count)
        for some, received in zip(nodes, processes.exchange(sent), strict=True):
            for number, node in enumerate(some):
                sums.add(node, received[number])
        (total,) = sums.parts.values()
        return processes.join(total)[:length]

    def _nodes(self, terms: range) -> list[Node]:
        """Return the nodes that remain once these terms have been added."""
        sums = PairwiseSum(self.count)
        for number in terms:
            sums.add(Node(0, number), torch.zeros(0))
        return list(sums.parts)
