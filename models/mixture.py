"""The mixture of softmaxes, P = sum_j pi_j softmax(W k_j + b) (Takase et al. 2018, equation 7).

``log_probabilities`` is the equation as written. The other functions never hold the [N, J, V]
probabilities: they go through blocks of rows and keep only the normaliser of each softmax, since
log p(target) = logsumexp_j(log pi_j + logit_j[target] - logsumexp_v logit_j[v]).

Shapes throughout: components k [N, J, D]; log_weights log pi [N, J]; embedding W [V, D];
bias b [V]; targets [N]. Everything is in nats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from reranker.models.products import bulk_rows, linear

# Scoring in float32 wants a block of logits and the block's words in the second-level cache;
# training hands each block to three matrix products, which want it large (elements).
_SCORING_ROWS, _SCORING_WORDS = (960, 192), 512
_EDGE_ROWS = 256
_TRAINING_BLOCK = 1 << 22
_DEVICE_BLOCK = 1 << 28  # on a GPU, whose kernels each cost a launch
_MATRIX_UNIT = 32  # inner sizes that are no multiple of this run many times slower in bfloat16
_TINY, _HUGE = 1e-20, 1e20
_LOG2_E = math.log2(math.e)


def log_probabilities(
    components: Tensor, log_weights: Tensor, embedding: Tensor, bias: Tensor
) -> Tensor:
    """Compute log P over the whole vocabulary, [N, V]: the equation as written, for tests and
    analysis."""
    per_softmax = torch.log_softmax(components @ embedding.T + bias, dim=-1)  # [N, J, V]
    return torch.logsumexp(log_weights.unsqueeze(-1) + per_softmax, dim=1)


def target_log_probability(
    components: Tensor, log_weights: Tensor, embedding: Tensor, bias: Tensor, targets: Tensor
) -> Tensor:
    """Compute log P of each row's target, [N]; no gradient."""
    with torch.no_grad():
        log_sums = log_normalisers(components, embedding, bias)
        rows = torch.arange(len(targets), device=targets.device)
        return continuations(components, log_weights, log_sums, embedding, bias, rows, targets)


def log_normalisers(components: Tensor, embedding: Tensor, bias: Tensor) -> Tensor:
    """Compute log sum_v exp(W_v k_j + b_v), [N, J]; no gradient.

    On a CPU a row's result is the same to the last bit whatever the other rows are.
    """
    rows = components.flatten(0, 1)
    result = rows.new_empty(len(rows), dtype=torch.promote_types(components.dtype, torch.float32))
    start = 0
    while start < len(rows):
        left = len(rows) - start
        if rows.device.type == "cpu":
            step = next((size for size in _SCORING_ROWS if size <= left), left)
        else:
            step = min(left, _DEVICE_BLOCK // len(embedding) + 1)
        block = functional.pad(rows[start : start + step], (0, 0, 0, bulk_rows(step) - step))
        result[start : start + step] = _log_sums(block, embedding, bias)[:step]
        start += step
    return result.view(components.shape[:2])


def continuations(
    components: Tensor,
    log_weights: Tensor,
    log_sums: Tensor,
    embedding: Tensor,
    bias: Tensor,
    rows: Tensor,
    targets: Tensor,
) -> Tensor:
    """Compute log P of ``targets`` [E], each predicted from the row ``rows`` [E] of ``components``,
    whose normalisers are ``log_sums``; a row may occur several times. [E]; no gradient."""
    result = []
    for start in range(0, len(rows), _EDGE_ROWS):
        mine, goals = (part[start : start + _EDGE_ROWS] for part in (rows, targets))
        log_joint = _log_joint(
            components[mine], log_weights[mine], embedding, bias, goals, log_sums[mine]
        )
        result.append(torch.logsumexp(log_joint, dim=1))
    return torch.cat(result) if result else log_sums.new_zeros(0)


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
        for rows in _blocks(components, embedding, _TRAINING_BLOCK):
            k, goal = components[rows], targets[rows]
            augmented = k.new_zeros(k.shape[0] * k.shape[1], width)
            augmented[:, :size] = k.flatten(0, 1)
            augmented[:, size] = 1
            exponentials, pulled, sums, log_sums = _exponentials(augmented, weight, size + 1, wide)
            log_joint = _log_joint(k, log_weights[rows], weight[:, :size], bias, goal, log_sums)
            log_likelihood = torch.logsumexp(log_joint, dim=1)
            total -= log_likelihood.sum()
            gamma = torch.exp(log_joint - log_likelihood.unsqueeze(1))  # [n, J]
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
    if bool(((sums > _TINY) & (sums < _HUGE)).all()):
        return exponentials, pulled, sums, sums.log()
    logits = augmented @ weight.T
    shift = logits.amax(1, keepdim=True)
    exponentials = logits.sub_(shift).exp_()
    pulled = (exponentials @ weight).to(wide)
    sums = pulled[:, ones]
    return exponentials, pulled, sums, sums.log() + shift.squeeze(1).to(wide)


def _blocks(components: Tensor, embedding: Tensor, elements: int) -> Iterator[slice]:
    """Yield slices of rows whose logits have about ``elements`` elements."""
    count, mixture = components.shape[:2]
    step = max(1, elements // (mixture * embedding.shape[0]))
    return (slice(start, start + step) for start in range(0, count, step))


def _log_sums(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Compute logsumexp of the logits, [R], the vocabulary in blocks that stay in the cache.

    Powers of two cost a third of exp. The maximum of a row is only subtracted where its sum would
    leave the number range, which trained logits never approach; a maximum for each row would cost
    a pass over the block.
    """
    wide = torch.promote_types(rows.dtype, torch.float32)
    if rows.device.type != "cpu":  # few large kernels, and nothing that waits for the device
        return torch.logsumexp(torch.addmm(bias, rows, weight.T).to(wide), 1)
    sums = torch.zeros(len(rows), dtype=wide)
    scaled_rows, scaled_bias = rows * _LOG2_E, bias * _LOG2_E
    for start in range(0, len(weight), _SCORING_WORDS):
        some, some_bias = (part[start : start + _SCORING_WORDS] for part in (weight, scaled_bias))
        sums += linear(scaled_rows, some, some_bias).exp2_().sum(1, dtype=wide)
    is_safe = (sums > _TINY) & (sums < _HUGE)
    if bool(is_safe.all()):
        return sums.log()
    return torch.where(is_safe, sums.log(), torch.logsumexp(rows @ weight.T + bias, 1).to(wide))


def _log_joint(
    components: Tensor,
    log_weights: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    log_sums: Tensor,
) -> Tensor:
    """Compute log pi_j + log p_j(target), [n, J], in the precision of ``log_sums``."""
    picked = (components * weight[targets].unsqueeze(1)).sum(-1, dtype=log_sums.dtype)
    logits = picked + bias[targets].unsqueeze(1)
    return log_weights + logits - log_sums.view_as(log_weights)
