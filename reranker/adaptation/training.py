"""Continues the training of an ensemble's model on silver trees and, if there are any, gold
ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.members import load_member
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.errors import ConfigError
from reranker.files.output import copy_whole
from reranker.training.config import TrainingConfig
from reranker.training.language_model_run import LanguageModelRun
from reranker.training.loop import train
from reranker.training.loss import dev_perplexity
from reranker.training.run import Progress

_WARM_UP = 0.1  # of the steps, at most

Trees = Sequence[tuple[str, ...]]  # linearised


class AdaptationRecipe(NamedTuple):
    """How to continue the training."""

    epochs: float  # passes over silver and gold trees
    rate: float  # of the learning rate that the model was trained with, to begin with
    gold_share: float  # of the tokens, at least, are of gold trees, if there are any
    seed: int


class Adapted(NamedTuple):
    """The outcome for one model."""

    name: str
    before: float  # perplexity per token on the held-out silver trees
    after: float


def mixed(silver: Trees, gold: Trees, share: float) -> list[tuple[str, ...]]:
    """The silver trees, and enough gold ones that ``share`` of all tokens are theirs: an evenly
    spread part of them, or all of them several times."""
    tokens = sum(map(len, gold))
    if not tokens:
        return list(silver)
    times = share / (1 - share) * sum(map(len, silver)) / tokens
    count = round(times * len(gold))
    return [*silver, *(gold[place * len(gold) // count % len(gold)] for place in range(count))]


def adapted(
    path: Path,
    silver: Trees,
    gold: Trees,
    held_out: Trees,
    out: Path,
    folder: Path,
    recipe: AdaptationRecipe,
    report: Callable[[float], None],
) -> Adapted | None:
    """Continue the checkpoint's training and write it to ``out``; the state is kept in ``folder``,
    so that the same call resumes it. A span model is copied, and the result is None. ``report`` is
    called with the share of the training that is done, from 0 to 1. Raises CheckpointError, and
    ConfigError for a checkpoint that does not say how it was trained."""
    checkpoint = load_member(path)
    if isinstance(checkpoint, SpanCheckpoint):
        copy_whole(path, out)
        return None
    learned = mixed(silver, gold, recipe.gold_share)
    config = trained_on(path, checkpoint, recipe, sum(map(len, learned)))
    eos = checkpoint.vocabulary.eos
    trees = [checkpoint.vocabulary.encode(tokens) for tokens in held_out]
    before = dev_perplexity(checkpoint.model, trees, eos)

    def tell(progress: Progress, loss: float, done: float) -> None:
        report(done)

    train(LanguageModelRun(config, learned, held_out, start_from=path), out, folder, tell)
    after = dev_perplexity(load_checkpoint(out).model, trees, eos)
    return Adapted(path.stem, before, after)


def trained_on(
    path: Path, checkpoint: Checkpoint, recipe: AdaptationRecipe, tokens: int = 0
) -> TrainingConfig:
    """The settings with which to continue the checkpoint's training on ``tokens`` tokens. Raises
    ConfigError if the checkpoint does not say how it was trained, or if the recipe is invalid."""
    known = checkpoint.information.get("training")
    if not isinstance(known, dict) or "model" not in known:
        raise ConfigError(
            f"{path}: does not say how it was trained, so it cannot be trained further"
        )
    names = {each.name for each in fields(TrainingConfig)}
    config = TrainingConfig(**{name: value for name, value in known.items() if name in names})
    rate = config.learning_rate if config.recipe == "fast" else TrainingConfig().learning_rate
    steps = recipe.epochs * tokens / config.batch_tokens
    config = replace(
        config,
        recipe="fast",
        budget_minutes=0.0,
        epochs=recipe.epochs,
        learning_rate=rate * recipe.rate,
        warmup_batches=min(config.warmup_batches, int(_WARM_UP * steps)),
        seed=recipe.seed,
        validation_trees=0,
    )
    try:
        config.check()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return config
