"""The measures of all kinds of runs: the loss of a batch in nats, and the perplexity of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from reranker.models import Features, LanguageModel
from reranker.models.batch import PADDING
from reranker.models.encoder_decoder import EncoderDecoder
from reranker.models.mixture_loss import negative_log_likelihood
from reranker.perplexity import perplexity
from reranker.plugins.training.processes import Processes


def summed_loss(
    model: LanguageModel | EncoderDecoder, features: Features, targets: Tensor
) -> tuple[Tensor, int]:
    """Return the summed negative log-likelihood in nats of ``targets`` [T, B], and their number."""
    is_target = targets != PADDING
    loss = negative_log_likelihood(
        features.components[is_target],
        features.log_weights[is_target],
        model.output_weight,
        model.decoder_bias,
        targets[is_target],
    )
    return loss, int(is_target.sum())


def grouped_perplexity(
    model: nn.Module,
    groups: Iterable[Sequence[int]],
    loss_of: Callable[[Sequence[int]], tuple[Tensor, int]],
    processes: Processes,
) -> float:
    """Return perplexity per token. ``loss_of`` returns the loss of a group in nats and its number
    of tokens; ``processes`` share the groups."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        losses = map(loss_of, processes.shares(list(groups)))
        results = [(float(loss), tokens) for loss, tokens in losses]
    model.train(was_training)
    total, count = 0.0, 0
    for loss, tokens in processes.merged(results):
        total += loss
        count += tokens
    return perplexity(total, count)
