"""The loss of the mixture of softmaxes, minus the log of its equation, with gradients that never
hold the [N, J, V] probabilities (shapes as in ``mixture``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from reranker.models.mixture import HUGE, TINY, log_joint

# Each block of logits goes to three matrix products, which want it large (elements).
_BLOCK = 1 << 22
_MATRIX_UNIT = 32  # inner sizes that are no multiple of this run many times slower in bfloat16


def negative_log_likelihood(
    components: Tensor, log_weights: Tensor, embedding: Tensor, bias: Tensor, targets: Tensor
) -> Tensor:
    """Compute the sum of -log P(target) over all rows, a scalar, with gradients for the first four.

    The gradients are made during the forward pass, while each block of exponentials exists.
    """
    apply: Callable[..., Tensor] = _NegativeLogLikelihood.apply
    return apply(components, log_weights, embedding, bias, targets)


class _NegativeLogLikelihood(torch.autograd.Function):
    """The loss and its derivative: with gamma_j = pi_j p_j[target] / P, that by logit_j[v] is
    gamma_j (p_j[v] - [v = target]); p_j stays exp(logit) times a factor of its row throughout.

    Bias and row sums are columns of the matrix products, [k, 1, 0] against [W, b, 1]:
    separate passes over a block cost more than the products on hardware with matrix units.
    """

    @staticmethod
    def forward(
        ctx: Any,
        components: Tensor,
        log_weights: Tensor,
        embedding: Tensor,
        bias: Tensor,
        targets: Tensor,
    ) -> Tensor:
        size, dtype = embedding.shape[1], components.dtype
        wide = torch.promote_types(dtype, torch.float32)
        width = -(-(size + 2) // _MATRIX_UNIT) * _MATRIX_UNIT
        weight = torch.zeros(len(embedding), width, dtype=dtype, device=embedding.device)
        weight[:, :size] = embedding
        weight[:, size] = bias
        weight[:, size + 1] = 1
        total = torch.zeros((), dtype=wide, device=components.device)
        grad_components = torch.empty_like(components)
        grad_log_weights = torch.empty_like(log_weights)
        grad_weight = torch.zeros(weight.shape, dtype=wide, device=weight.device)
        for rows in _blocks(components, embedding):
            k, goal = components[rows], targets[rows]
            augmented = k.new_zeros(k.shape[0] * k.shape[1], width)
            augmented[:, :size] = k.flatten(0, 1)
            augmented[:, size] = 1
            exponentials, pulled, sums, log_sums = _exponentials(augmented, weight, size + 1, wide)
            joint = log_joint(k, log_weights[rows], weight[:, :size], bias, goal, log_sums)
            log_likelihood = torch.logsumexp(joint, dim=1)
            total -= log_likelihood.sum()
            gamma = torch.exp(joint - log_likelihood.unsqueeze(1))  # [n, J]
            grad_log_weights[rows] = -gamma
            factor = (gamma.flatten().to(wide) / sums).unsqueeze(1)
            pulled = (pulled[:, :size] * factor).view(k.shape)
            pulled -= gamma.unsqueeze(-1) * weight[goal, :size].unsqueeze(1)
            grad_components[rows] = pulled.to(dtype)
            grad_weight += exponentials.T @ (augmented * factor).to(dtype)
            wanted = (gamma.unsqueeze(-1) * augmented.view(*k.shape[:2], width)).sum(1)
            grad_weight.index_add_(0, goal, wanted.to(wide), alpha=-1)
        ctx.save_for_backward(
            grad_components,
            grad_log_weights,
            grad_weight[:, :size].to(embedding.dtype),
            grad_weight[:, size].to(bias.dtype),
        )
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = grad_outputs[0]
        return (*(gradient * scale.to(gradient.dtype) for gradient in ctx.saved_tensors), None)


def _exponentials(
    augmented: Tensor, weight: Tensor, ones: int, wide: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return e = exp(logits) [R, V]; e times ``weight`` [R, width], sum_v exp(logit[v]) W[v]; the
    sums of e's rows [R], which are column ``ones`` of that product; the log of the sum of
    exp(logits) [R].

    Where a row's sum leaves the number range, all rows of e are divided by their maximum.
    """
    exponentials = (augmented @ weight.T).exp_()
    pulled = (exponentials @ weight).to(wide)
    sums = pulled[:, ones]
    if bool(((sums > TINY) & (sums < HUGE)).all()):
        return exponentials, pulled, sums, sums.log()
    logits = augmented @ weight.T
    shift = logits.amax(1, keepdim=True)
    exponentials = logits.sub_(shift).exp_()
    pulled = (exponentials @ weight).to(wide)
    sums = pulled[:, ones]
    return exponentials, pulled, sums, sums.log() + shift.squeeze(1).to(wide)


def _blocks(components: Tensor, embedding: Tensor) -> Iterator[slice]:
    """Yield slices of rows whose logits have about ``_BLOCK`` elements."""
    count, mixture = components.shape[:2]
    step = max(1, _BLOCK // (mixture * embedding.shape[0]))
    return (slice(start, start + step) for start in range(0, count, step))
