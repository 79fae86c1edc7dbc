"""The loss that training minimises, and the perplexity by which it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from reranker.models import Features, LanguageModel, State
from reranker.models.batch import Batch, grouped_by_length, whole_trees
from reranker.models.running import read_on, read_through
from reranker.perplexity import perplexity
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.loop.perplexity import grouped_perplexity, summed_loss
from reranker.plugins.training.processes import Processes


def backward(
    model: LanguageModel,
    batch: Batch,
    state: State | None,
    config: TrainingConfig,
    dtype: torch.dtype,
    device: str,
) -> tuple[float, int, State]:
    """Add the gradients of the mean loss and its penalties to the model's parameters.

    ``state`` None is the start state. Returns the loss in nats per token, the number of tokens, and
    the last state, detached.
    """
    model.train()
    loss, count, features, state = _loss(model, batch, state, dtype, device)
    mean = loss / max(1, count)
    objective = mean
    if config.activation_regularization:
        objective = objective + config.activation_regularization * features.output.pow(2).mean()
    if config.temporal_regularization and len(features.raw_output) > 1:
        change = features.raw_output[1:] - features.raw_output[:-1]
        objective = objective + config.temporal_regularization * change.pow(2).mean()
    if config.mixture_balance and features.log_weights.shape[-1] > 1:
        imbalance = BETAS[config.mixture_balance_form](features.log_weights)
        objective = objective + config.mixture_balance * imbalance
    torch.autograd.backward(objective)
    detached = tuple(tuple(part.detach() for part in layer) for layer in state)
    return float(mean.detach()), count, detached


def printed_beta(log_weights: Tensor) -> Tensor:
    """Compute the squared coefficient of variation of pi [..., J] summed over the batch (Takase et
    al. 2018, equations 12 and 13); a scalar."""
    summed = log_weights.exp().flatten(0, -2).sum(0)
    return (summed.std() / summed.mean()) ** 2


def authors_beta(log_weights: Tensor) -> Tensor:
    """Compute beta like the code behind the paper's figures (nttcslab-nlp/doc_lm), a scalar: pi
    [T, B, J] is summed over time only, the variance is that of all B x J sums, and this variance
    is multiplied by J - 1. With T 70, B 12 and J 20 the result is 18 times the printed form or
    more."""
    summed = log_weights.exp().sum(0)
    return summed.var() * (summed.shape[-1] - 1) / summed.mean() ** 2


BETAS = {"printed": printed_beta, "authors": authors_beta}


def dev_perplexity(
    model: LanguageModel,
    trees: Sequence[Sequence[int]],
    eos: int,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    batch_tokens: int = 8_192,
    processes: Processes = Processes(),
) -> float:
    """Return perplexity per token, ``<eos>`` included; every tree is read from the start state.
    Several ``processes`` share the work; the result is the same."""
    groups = grouped_by_length(range(len(trees)), list(map(len, trees)), batch_tokens)

    def loss_of(numbers: Sequence[int]) -> tuple[Tensor, int]:
        batch = whole_trees([trees[number] for number in numbers], eos)
        loss, tokens, _, _ = _loss(model, batch, None, dtype, device)
        return loss, tokens

    return grouped_perplexity(model, groups, loss_of, processes)


def text_perplexity(
    model: LanguageModel,
    lines: Iterable[Sequence[int]],
    eos: int,
    opening: int,
    dtype: torch.dtype = torch.float32,
) -> float:
    """Return perplexity per token, each line's ``<eos>`` included, of running text: the state is
    carried from line to line and reset before every token ``opening``, which is given and not
    counted."""
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    ids = [number for line in lines for number in line]
    with torch.no_grad():
        for features, targets in read_through(model, ids, eos, opening, dtype=dtype):
            loss, tokens = summed_loss(model, features, targets)
            total += float(loss)
            count += tokens
    model.train(was_training)
    return perplexity(total, count)


def _loss(
    model: LanguageModel, batch: Batch, state: State | None, dtype: torch.dtype, device: str
) -> tuple[Tensor, int, Features, State]:
    """Return the batch's summed loss in nats, its number of targets, features and last state."""
    inputs, targets = batch.inputs.to(device), batch.targets.to(device)
    state = state or model.initial_state(inputs.shape[1])
    features, state = read_on(model, inputs, state, batch.opening, dtype)
    loss, count = summed_loss(model, features, targets)
    return loss, count, features, state
