"""A training run of an encoder-decoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reranker.errors import InputError
from reranker.models.batch import Batch, grouped_by_length
from reranker.models.encoder_decoder import EncoderDecoder
from reranker.plugins.generation.encoder_decoder_file import save_generator
from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_vocabulary import Pair, PairVocabulary
from reranker.plugins.generation.pairs import text_pairs, tree_pairs
from reranker.plugins.training.corpus.batches import Batches, EncodedPair, PairBatches, pair_batch
from reranker.plugins.training.loop.perplexity import grouped_perplexity, summed_loss
from reranker.plugins.training.loop.recipes import FastRecipe, Recipe
from reranker.plugins.training.loop.run import NewRun, Run
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.plugins.training.processes import Processes
from reranker.trees.treebank import read_treebank

CONFIG = PairConfig
TAKES = {"train_target", "dev_target"}
_DEV_TOKENS = 4_096  # in a batch


class PairRun(Run):
    """Training on pairs of source and target."""

    config: PairConfig
    model: EncoderDecoder

    def __init__(
        self,
        config: PairConfig,
        pairs: Sequence[Pair],
        dev: Sequence[Pair],
        *,
        device: str = "cpu",
        processes: Processes = Processes(),
    ) -> None:
        super().__init__(config, device, processes)
        self.vocabulary = PairVocabulary.build(
            config.task, pairs, config.merges, config.minimum_count
        )
        sizes = len(self.vocabulary.target), self.vocabulary.source_size
        self.model = EncoderDecoder(config.model_config(*sizes))
        encoded = [self._encoded(pair) for pair in pairs]
        self.pairs = len(encoded)
        self.dev = [self._encoded(pair) for pair in dev]
        _start(self.model, config, encoded)
        self.model.to(device)
        eos = self.vocabulary.eos
        batches = PairBatches(encoded, eos, config.batch_tokens, config.seed)
        make = DecayRecipe if config.recipe == "sgd" else FastRecipe
        self.recipe = make(self.model, config, batches)

    def backward(self, batch: Batch) -> tuple[float, int]:
        """Add the gradients of the objective: the mean over tokens or, with ``sgd``, over
        sentences."""
        self.model.train()
        loss, tokens = self._loss(batch)
        torch.autograd.backward(loss / self.weight(batch))
        return float(loss.detach()) / tokens, tokens

    def weight(self, batch: Batch) -> int:
        return batch.targets.shape[1] if self.config.recipe == "sgd" else super().weight(batch)

    @property
    def dev_tokens(self) -> int:
        return sum(pair.length for pair in self.dev)

    def dev_perplexity(self) -> float:
        lengths = [pair.length for pair in self.dev]
        groups = grouped_by_length(range(len(self.dev)), lengths, _DEV_TOKENS)

        def loss_of(numbers: Sequence[int]) -> tuple[Tensor, int]:
            return self._loss(pair_batch([self.dev[n] for n in numbers], self.vocabulary.eos))

        return grouped_perplexity(self.model, groups, loss_of, self.processes)

    def write_checkpoint(self, path: Path) -> None:
        information = {**self.trained(), "pairs": self.pairs, "dev_pairs": len(self.dev)}
        save_generator(path, self.model, self.vocabulary, information, self.stored)

    def identity(self) -> dict[str, Any]:
        return {
            "config": self.settings(),
            "vocabulary": self.vocabulary.digest,
            "pairs": self.pairs,
        }

    def _loss(self, batch: Batch) -> tuple[Tensor, int]:
        """Return the summed negative log-likelihood in nats, and the number of targets."""
        assert batch.source is not None
        targets = batch.targets.to(self.device)
        memory, state = self.model.encode(batch.source.to(self.device))
        features, _ = self.model(batch.inputs.to(self.device), memory, state)
        return summed_loss(self.model, features, targets)

    def _encoded(self, pair: Pair) -> EncodedPair:
        vocabulary = self.vocabulary
        return EncodedPair(
            vocabulary.encode_source(pair.source), vocabulary.encode_target(pair.target)
        )


def new_run(settings: TrainSettings, config: PairConfig, processes: Processes) -> NewRun:
    """Read the pairs. Raises InputError for flags that do not apply, and for files that cannot be
    read."""
    _check_targets(settings, config.task)
    pairs, dev = (_pairs(settings, side, config) for side in ("train", "dev"))
    return NewRun(partial(PairRun, config, pairs, dev), len(pairs), len(dev), "pairs")


def _check_targets(settings: TrainSettings, task: str) -> None:
    """Raise InputError for targets that do not belong to the sources."""
    if task == "parsing" and (settings.train_target or settings.dev_target):
        raise InputError("--train-target and --dev-target are for text; trees are in --train")
    for side in ("train", "dev"):
        sources, targets = getattr(settings, side), getattr(settings, f"{side}_target")
        if targets and len(targets) != len(sources):
            raise InputError(
                f"--{side}-target: {len(targets)} files for {len(sources)} of --{side}"
            )


def _pairs(settings: TrainSettings, side: str, config: PairConfig) -> list[Pair]:
    """Read the pairs that an encoder-decoder learns from or is selected on."""
    sources, targets = getattr(settings, side), getattr(settings, f"{side}_target")
    if config.task == "parsing":
        return list(tree_pairs(read_treebank(sources), config.tags))
    files = zip(sources, targets or [None] * len(sources), strict=True)
    return [pair for source, target in files for pair in text_pairs(source, target)]


class DecayRecipe(Recipe):
    """SGD whose rate is multiplied by ``decay`` for every epoch after ``steady_epochs``."""

    def __init__(self, model: nn.Module, config: PairConfig, batches: Batches[Any]) -> None:
        self.config, self.batches = config, batches
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config.learning_rate)

    def step(self, batch: Batch, done: float) -> float:
        late = max(0.0, self.batches.epoch + 1 - self.config.steady_epochs)
        rate = self.config.learning_rate * math.pow(self.config.decay, late)
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        return rate

    def state(self) -> dict[str, Any]:
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        return


def _start(model: EncoderDecoder, config: PairConfig, encoded: Sequence[EncodedPair]) -> None:
    """Initialise the model: ``fast`` as language models do (docs/research/training.md); ``uniform``
    as the authors do: everything, biases included, uniform up to ``embedding_range`` from zero."""
    if config.start == "uniform":
        most = model.config.embedding_range
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -most, most)
        return
    seen = torch.tensor([number for pair in encoded for number in pair.target])
    model.start_from_frequencies(torch.bincount(seen, minlength=model.config.vocabulary_size))
