"""The mixture of softmaxes, P = sum_j pi_j softmax(W k_j + b) (Takase et al. 2018, equation 7).

``log_probabilities`` is the equation as written. The other functions never hold the [N, J, V]
probabilities: they go through blocks of rows and keep only the normaliser of each softmax, since
log p(target) = logsumexp_j(log pi_j + logit_j[target] - logsumexp_v logit_j[v]).

Shapes throughout: components k [N, J, D]; log_weights log pi [N, J]; embedding W [V, D];
bias b [V]; targets [N]. Everything is in nats.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from reranker.models.products import LOG2_E, EightBits, bulk_rows, linear

# A block of logits and the block's words should stay in the second-level cache.
_SCORING_ROWS, _SCORING_WORDS = (960, 192), 512
_ROUNDED_ROWS = (192,)  # whose blocks have more words
_EDGE_ROWS = 256
_DEVICE_BLOCK = 1 << 28  # on a GPU, whose kernels each cost a launch
TINY, HUGE = 1e-20, 1e20  # sums of exponentials between them are sure to be right


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


def log_normalisers(
    components: Tensor, embedding: Tensor, bias: Tensor, rounded: EightBits | None = None
) -> Tensor:
    """Compute log sum_v exp(W_v k_j + b_v), [N, J], with products of 8-bit integers if ``rounded``
    is given; no gradient.

    On a CPU a row's result is the same to the last bit whatever the other rows are.
    """
    rows = components.flatten(0, 1)
    result = rows.new_empty(len(rows), dtype=torch.promote_types(components.dtype, torch.float32))
    start = 0
    while start < len(rows):
        left = len(rows) - start
        if rows.device.type == "cpu":
            sizes = _ROUNDED_ROWS if rounded else _SCORING_ROWS
            step = next((size for size in sizes if size <= left), left)
        else:
            step = min(left, _DEVICE_BLOCK // len(embedding) + 1)
        block = functional.pad(rows[start : start + step], (0, 0, 0, bulk_rows(step) - step))
        result[start : start + step] = _log_sums(block, embedding, bias, rounded)[:step]
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
        joint = log_joint(
            components[mine], log_weights[mine], embedding, bias, goals, log_sums[mine]
        )
        result.append(torch.logsumexp(joint, dim=1))
    return torch.cat(result) if result else log_sums.new_zeros(0)


def _log_sums(
    rows: Tensor, weight: Tensor, bias: Tensor, rounded: EightBits | None = None
) -> Tensor:
    """Compute logsumexp of the logits, [R], the vocabulary in blocks that stay in the cache.

    Powers of two cost a third of exp. The maximum of a row is only subtracted where its sum would
    leave the number range, which trained logits never approach; a maximum for each row would cost
    a pass over the block.
    """
    wide = torch.promote_types(rows.dtype, torch.float32)
    if rows.device.type != "cpu":  # few large kernels, and nothing that waits for the device
        return torch.logsumexp(torch.addmm(bias, rows, weight.T).to(wide), 1)
    sums = torch.zeros(len(rows), dtype=wide)
    exact = _scaled_logits(rows, weight, bias)
    for logits in rounded.scaled_logits(rows) if rounded else exact:
        sums += logits.exp2_().sum(1, dtype=wide)
    is_safe = (sums > TINY) & (sums < HUGE)
    if bool(is_safe.all()):
        return sums.log()
    return torch.where(is_safe, sums.log(), torch.logsumexp(rows @ weight.T + bias, 1).to(wide))


def _scaled_logits(rows: Tensor, weight: Tensor, bias: Tensor) -> Iterator[Tensor]:
    """Yield the logits [R, n] times log2 e, block by block of the vocabulary."""
    scaled_rows, scaled_bias = rows * LOG2_E, bias * LOG2_E
    for start in range(0, len(weight), _SCORING_WORDS):
        some, some_bias = (part[start : start + _SCORING_WORDS] for part in (weight, scaled_bias))
        yield linear(scaled_rows, some, some_bias)


def log_joint(
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
