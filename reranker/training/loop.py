"""The training loop: from treebanks to a checkpoint.

    rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
        --out ckpt/name.pt

A run may be killed at any moment: its whole state (weights, optimiser, place in the data, random
numbers) is saved every ``STATE_INTERVAL`` seconds, and the same command goes on from there.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import (
    load_checkpoint,
    load_data,
    save_checkpoint,
    write_atomically,
)
from reranker.checkpoints.devices import keep_freed_memory
from reranker.checkpoints.vocabulary import Vocabulary, rare_words
from reranker.errors import ConfigError
from reranker.models import Features, LanguageModel, State
from reranker.models.mixture import negative_log_likelihood
from reranker.training.batches import PADDING, Batch, whole_trees
from reranker.training.config import TrainingConfig
from reranker.training.log import TrainingLog
from reranker.training.recipes import RECIPES, Recipe
from reranker.training.word_vectors import WordVectors, start_embedding

STATE_INTERVAL = 45.0  # seconds
_LOG_INTERVAL = 50  # batches

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Progress:
    """What a run has done so far; the moving parts of its saved state."""

    batches: int = 0
    tokens: int = 0
    seconds: float = 0.0
    mean_loss: float = 0.0  # nats a token, over about _LOG_INTERVAL batches
    evaluated_at: int = -1  # batches
    best_perplexity: float = math.inf
    best_weights: dict[str, Tensor] = field(default_factory=dict)


def train(
    config: TrainingConfig,
    train_trees: Sequence[Sequence[str]],
    dev_trees: Sequence[Sequence[str]],
    out: Path,
    log_folder: Path,
    *,
    device: str = "cpu",
    start_from: Path | None = None,
    vectors: WordVectors | None = None,
    report: Callable[[Progress, float, float], None] = lambda progress, loss, done: None,
) -> float:
    """Train on linearised trees, write the best model to ``out``; returns its dev perplexity.

    Perplexity is per token, ``<eos>`` counted. ``start_from`` takes vocabulary and first weights
    from a checkpoint; ``vectors`` are where embeddings start otherwise, and class the words that
    are rare in the trees.

    ``report(progress, loss, done)`` is called after every batch with the loss in nats a token and
    the share of the budget used up. Raises ConfigError if ``log_folder`` holds the state of another
    run, if the configuration does not fit ``start_from`` or the data, and if training diverges.
    """
    keep_freed_memory()
    torch.set_flush_denormal(True)  # gradients full of denormals run a hundred times slower
    torch.manual_seed(config.seed)
    vocabulary, model = _model(config, train_trees, start_from, vectors)
    model.to(device)
    encoded = [vocabulary.encode(tokens) for tokens in train_trees]
    if start_from is None:
        seen = torch.tensor([number for ids in encoded for number in ids])
        model.start_from_frequencies(torch.bincount(seen, minlength=len(vocabulary)))
    every = max(1, len(dev_trees) // config.validation_trees) if config.validation_trees else 1
    dev = [vocabulary.encode(tokens) for tokens in dev_trees[::every]]
    recipe: Recipe = RECIPES[config.recipe](model, config, encoded, vocabulary.eos)
    dtype = torch.bfloat16 if config.precision == "bfloat16" else torch.float32

    settings = config.to_dict()
    for budget in ("budget_minutes", "epochs"):  # a run may be given more time
        del settings[budget]
    run = {
        "config": settings,
        "vocabulary": vocabulary.digest,
        "trees": len(encoded),
        "word_vectors": len(vectors.words) if vectors else 0,
    }
    state_path = log_folder / "state.pt"
    progress, carried = Progress(), None
    if state_path.exists():
        carried = _resume(state_path, run, model, recipe, progress, device)
    log = TrainingLog(log_folder, resume_at=progress.batches)
    started, state_saved = time.monotonic() - progress.seconds, time.monotonic()
    finished = False
    while not finished:
        done = _share_done(config, progress, recipe)
        finished = done >= 1 or recipe.finished
        if not finished:
            batch = recipe.batches.next()
            state = carried if batch.continues and carried else None
            loss, count, carried = _backward(model, batch, state, config, dtype, device)
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            rate = recipe.step(batch, done)
            model.zero_grad(set_to_none=True)
            progress.batches += 1
            progress.tokens += count
            progress.seconds = time.monotonic() - started
            window = min(progress.batches, _LOG_INTERVAL)
            progress.mean_loss += (loss - progress.mean_loss) / window
            report(progress, progress.mean_loss, done)
            if progress.batches % _LOG_INTERVAL == 0:
                log.write(
                    progress.batches, tokens=progress.tokens, seconds=progress.seconds,
                    loss=progress.mean_loss, learning_rate=rate,
                )  # fmt: skip
        due = finished or _validation_due(config, progress, recipe)
        if due and progress.evaluated_at != progress.batches:
            progress.evaluated_at = progress.batches
            with recipe.evaluation_weights():
                perplexity = dev_perplexity(model, dev, vocabulary.eos, dtype, device)
                improved = perplexity < progress.best_perplexity
                if improved:
                    progress.best_perplexity = perplexity
                    progress.best_weights = {
                        name: weight.detach().cpu().clone()
                        for name, weight in model.named_parameters()
                    }
            log.write(
                progress.batches, tokens=progress.tokens, seconds=progress.seconds,
                dev_perplexity=perplexity, epoch=recipe.batches.progress,
            )  # fmt: skip
            log.plot()
            if not progress.best_weights:
                log.close()
                raise ConfigError(
                    f"training diverged: dev perplexity is {perplexity} after {progress.batches} "
                    f"batches; try a lower learning_rate than {config.learning_rate}"
                )
            recipe.evaluated(perplexity, progress.best_weights, improved)
            finished |= recipe.finished
        if finished or time.monotonic() - state_saved > STATE_INTERVAL:
            _save_state(state_path, run, model, recipe, progress, carried)
            state_saved = time.monotonic()

    model.load_state_dict(progress.best_weights)
    stored = torch.float16 if config.stored_precision == "float16" else torch.float32
    information = {
        "training": config.to_dict(),
        "dev_perplexity": progress.best_perplexity,
        "dev_trees": len(dev),
        "train_trees": len(encoded),
        "tokens": progress.tokens,
        "epochs": recipe.batches.progress,
        "minutes": progress.seconds / 60,
        "start_from": start_from.name if start_from else "",
        "word_vectors": run["word_vectors"],
    }
    save_checkpoint(out, model, vocabulary, information, stored)
    log.close()
    return progress.best_perplexity


def dev_perplexity(
    model: LanguageModel,
    trees: Sequence[Sequence[int]],
    eos: int,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    batch_tokens: int = 8_192,
) -> float:
    """exp of the mean negative log-likelihood of a token; every tree from the same start state."""
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    ordered = sorted(trees, key=len)
    start = 0
    with torch.no_grad():
        while start < len(ordered):
            end = start + 1
            while end < len(ordered) and (end + 1 - start) * len(ordered[end]) <= batch_tokens:
                end += 1
            loss, tokens, _, _ = _loss(
                model, whole_trees(ordered[start:end], eos), None, dtype, device
            )
            total += float(loss.detach())
            count += tokens
            start = end
    model.train(was_training)
    mean = total / count
    return math.exp(mean) if mean < 700 else math.inf


def _model(
    config: TrainingConfig,
    trees: Sequence[Sequence[str]],
    start_from: Path | None,
    vectors: WordVectors | None,
) -> tuple[Vocabulary, LanguageModel]:
    if start_from is None:
        classes = None
        if vectors is not None:
            rare = rare_words(trees, config.minimum_count)
            classes = vectors.classes(rare, config.word_classes)
        vocabulary = Vocabulary.build(
            trees, config.minimum_count, classes, config.direction == "backward"
        )
        model = config.new_model(len(vocabulary))
        if vectors is not None:
            start_embedding(model, vocabulary, vectors)
        return vocabulary, model
    checkpoint = load_checkpoint(start_from)
    direction = "backward" if checkpoint.vocabulary.backward else "forward"
    if direction != config.direction:
        raise ConfigError(f"{start_from}: it reads {direction}, not {config.direction}")
    model = config.new_model(len(checkpoint.vocabulary))
    try:
        model.load_state_dict(checkpoint.model.state_dict())
    except RuntimeError as error:
        raise ConfigError(f"{start_from}: it does not fit [model]") from error
    return checkpoint.vocabulary, model


def _loss(
    model: LanguageModel, batch: Batch, state: State | None, dtype: torch.dtype, device: str
) -> tuple[Tensor, int, Features, State]:
    """The summed negative log-likelihood of the batch, its number of targets, and more."""
    inputs, targets = batch.inputs.to(device), batch.targets.to(device)
    state = state or model.initial_state(inputs.shape[1])
    features, state = model(inputs, state, dtype)
    wanted = targets != PADDING
    loss = negative_log_likelihood(
        features.components[wanted],
        features.log_weights[wanted],
        model.output_weight,
        model.decoder_bias,
        targets[wanted],
    )
    return loss, int(wanted.sum()), features, state


def _backward(
    model: LanguageModel,
    batch: Batch,
    state: State | None,
    config: TrainingConfig,
    dtype: torch.dtype,
    device: str,
) -> tuple[float, int, State]:
    """Gradients of the mean loss and its penalties; returns loss in nats a token, tokens, state."""
    model.train()
    loss, count, features, state = _loss(model, batch, state, dtype, device)
    mean = loss / count
    objective = mean
    if config.activation_regularization:
        objective = objective + config.activation_regularization * features.output.pow(2).mean()
    if config.temporal_regularization and len(features.raw_output) > 1:
        change = features.raw_output[1:] - features.raw_output[:-1]
        objective = objective + config.temporal_regularization * change.pow(2).mean()
    if config.mixture_balance and features.log_weights.shape[-1] > 1:
        objective = objective + config.mixture_balance * mixture_imbalance(features.log_weights)
    objective.backward()  # type: ignore[no-untyped-call]
    detached = tuple(tuple(part.detach() for part in layer) for layer in state)
    return float(mean.detach()), count, detached


def mixture_imbalance(log_weights: Tensor) -> Tensor:
    """beta: the squared coefficient of variation of the batch's summed pi (equations 12, 13)."""
    summed = log_weights.exp().flatten(0, -2).sum(0)
    return (summed.std() / summed.mean()) ** 2


def _share_done(config: TrainingConfig, progress: Progress, recipe: Recipe) -> float:
    """How much of the budget is used up, 0 to 1; the fast recipe's learning rate follows it."""
    shares = [0.0]
    if config.budget_minutes:
        shares.append(progress.seconds / 60 / config.budget_minutes)
    if config.epochs and config.recipe == "fast":
        shares.append(recipe.batches.progress / config.epochs)
    return min(1.0, max(shares))


def _validation_due(config: TrainingConfig, progress: Progress, recipe: Recipe) -> bool:
    if config.validate_every:
        return progress.batches % config.validate_every == 0
    return recipe.batches.progress % 1 == 0


def _save_state(
    path: Path,
    run: dict[str, Any],
    model: LanguageModel,
    recipe: Recipe,
    progress: Progress,
    carried: State | None,
) -> None:
    write_atomically(
        path,
        {
            "run": run,
            "weights": model.state_dict(),
            "recipe": recipe.state(),
            "place": (recipe.batches.epoch, recipe.batches.position),
            "carried": carried,
            "random": torch.get_rng_state(),
            "progress": {name: getattr(progress, name) for name in progress.__slots__},
        },
    )


def _resume(
    path: Path,
    run: dict[str, Any],
    model: LanguageModel,
    recipe: Recipe,
    progress: Progress,
    device: str,
) -> State | None:
    saved = load_data(path)
    if not isinstance(saved, dict) or saved.get("run") != run:
        raise ConfigError(
            f"{path}: the state of a run with other settings or trees; "
            "delete it, or choose another --log-folder"
        )
    model.load_state_dict(saved["weights"])
    recipe.load_state(saved["recipe"])
    recipe.batches.seek(*saved["place"])
    torch.set_rng_state(saved["random"])
    for name, value in saved["progress"].items():
        setattr(progress, name, value)
    logger.info("resuming %s after %d batches", path, progress.batches)
    carried = saved["carried"]
    return carried and tuple(tuple(part.to(device) for part in layer) for layer in carried)
