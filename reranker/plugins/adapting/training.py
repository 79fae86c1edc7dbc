"""Continues the training of an ensemble's model on silver trees and, if there are any, gold
ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from reranker.checkpoints.checkpoint import READS_TAGS, Checkpoint
from reranker.checkpoints.members import LoadedMember, load_member
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.errors import ConfigError
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.plugins.training.loop.run import Progress, Run
from reranker.plugins.training.loop.train import train
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.run import SpanRun
from reranker.trees.linearize import TaggedTree

_WARM_UP = 0.1  # of the steps, at most
_KEPT = ("temperature", "punctuation")  # known from trees that people made
_NO_NEW = {"minimum_count": 10**9, "minimum_tags": 0}  # words, labels and tags of a span model

Trees = Sequence[TaggedTree]


class AdaptationRecipe(NamedTuple):
    """The settings with which training continues."""

    epochs: float  # passes over silver and gold trees
    rate: float  # of the learning rate that the model was trained with, to begin with
    gold_share: float  # of the tokens, at least, are of gold trees, if there are any
    seed: int


class Adapted(NamedTuple):
    """The outcome for one model."""

    name: str
    before: float  # perplexity on the held-out silver trees per token, of a span model per word
    after: float


def mixed(silver: Trees, gold: Trees, share: float) -> list[TaggedTree]:
    """Return the silver trees, and enough gold trees for ``share`` of all tokens: an evenly spread
    part of the gold trees, or all of them several times."""
    tokens = _length(gold)
    if not tokens:
        return list(silver)
    times = share / (1 - share) * _length(silver) / tokens
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
) -> Adapted:
    """Continue the checkpoint's training and write it to ``out``; the state is kept in ``folder``,
    so that the same call resumes it. ``report`` is called with the share of the training that is
    done, from 0 to 1. Raises CheckpointError, and ConfigError for a checkpoint that does not say
    how it was trained."""
    member = load_member(path)
    learned = mixed(silver, gold, recipe.gold_share)
    config = trained_on(path, member, recipe, learned)
    run: Run
    if isinstance(config, SpanTrainingConfig):
        # No new temperature: a model is overconfident about trees it chose itself.
        known = {"temperature": 1.0, **member.information}
        kept = {name: known[name] for name in _KEPT if name in known}
        run = SpanRun(config, learned, held_out, start_from=path, kept=kept)
    else:
        tokens = ([tree.tokens for tree in trees] for trees in (learned, held_out))
        run = LanguageModelRun(config, *tokens, start_from=path)
    before = run.dev_perplexity()

    def tell(progress: Progress, loss: float, done: float) -> None:
        report(done)

    return Adapted(path.stem, before, train(run, out, folder, tell))


def trained_on(
    path: Path, member: LoadedMember, recipe: AdaptationRecipe, learned: Trees = ()
) -> TrainingConfig | SpanTrainingConfig:
    """Return the settings with which to continue the model's training on ``learned``; the model's
    vocabulary stays the same. Raises ConfigError if the checkpoint does not say how it was trained,
    if it is of a model that reads tags, or if the recipe is invalid."""
    if isinstance(member, Checkpoint) and member.vocabulary.reads_tags:
        raise ConfigError(f"{path}: {READS_TAGS}, which cannot be adapted")
    known = member.information.get("training")
    if not isinstance(known, dict) or "model" not in known:
        raise ConfigError(
            f"{path}: does not say how it was trained, so it cannot be trained further"
        )
    of_spans = isinstance(member, SpanCheckpoint)
    kind = SpanTrainingConfig if of_spans else TrainingConfig
    names = {each.name for each in fields(kind)}
    config = kind(**{name: value for name, value in known.items() if name in names})
    rate = config.learning_rate if config.recipe == "fast" else TrainingConfig().learning_rate
    steps = recipe.epochs * _batches(learned, config.batch_tokens, of_spans)
    others: dict[str, Any] = _NO_NEW if of_spans else {"validation_trees": 0}
    return replace(
        config,
        recipe="fast",
        budget_minutes=0.0,
        epochs=recipe.epochs,
        learning_rate=rate * recipe.rate,
        warmup_batches=min(config.warmup_batches, int(_WARM_UP * steps)),
        seed=recipe.seed,
        keep="best",
        **others,
    ).checked(path)


def _batches(trees: Trees, most: int, of_spans: bool) -> float:
    """Return the number of batches in a pass; the sentences in a batch of a span model have one
    length."""
    if not of_spans:
        return _length(trees) / most
    lengths = Counter(len(tree.words) for tree in trees)
    return sum(ceil(length * count / most) for length, count in lengths.items())


def _length(trees: Trees) -> int:
    return sum(len(tree.tokens) for tree in trees)
