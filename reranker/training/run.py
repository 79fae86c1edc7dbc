"""A training run: the model, what trains it, and how far it has come.

Its whole state can be saved and restored, so a killed run resumes exactly.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary, rare_words
from reranker.errors import ConfigError
from reranker.models import LanguageModel, State
from reranker.models.batch import PADDING
from reranker.text.running import encoded as encoded_text
from reranker.text.running import opening_id
from reranker.training.config import TrainingConfig
from reranker.training.loss import dev_perplexity, text_perplexity
from reranker.training.recipes import RECIPES, Recipe
from reranker.training.start import start
from reranker.training.word_vectors import WordVectors, start_embedding

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Progress:
    """What a run has done so far; the moving parts of its saved state."""

    batches: int = 0
    tokens: int = 0
    seconds: float = 0.0
    mean_loss: float = 0.0  # nats per token, a running mean over recent batches
    evaluated_at: int = -1  # batches
    best_perplexity: float = math.inf  # on the dev trees, per token
    best_weights: dict[str, Tensor] = field(default_factory=dict)


class Run:
    """One training run from its first batch to its checkpoint."""

    def __init__(
        self,
        config: TrainingConfig,
        train_trees: Sequence[Sequence[str]],
        dev_trees: Sequence[Sequence[str]],
        device: str,
        start_from: Path | None,
        vectors: WordVectors | None,
    ) -> None:
        """Raises ConfigError if the configuration does not fit ``start_from`` or the trees."""
        self.config, self.device, self.start_from = config, device, start_from
        self.dtype = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
        if start_from is None:
            self.vocabulary, self.model = _new_model(config, train_trees, vectors)
        else:
            self.vocabulary, self.model = _pretrained_model(config, start_from)
        encoded = self._encoded(train_trees)
        if start_from is None:
            seen = torch.tensor([number for ids in encoded for number in ids])
            counts = torch.bincount(seen, minlength=len(self.vocabulary))
            start(self.model, config.start, counts)
            if vectors is not None:
                start_embedding(self.model, self.vocabulary, vectors)
        self.model.to(device)
        every = max(1, len(dev_trees) // config.validation_trees) if config.validation_trees else 1
        self.dev = self._encoded(dev_trees[::every])
        self.opening = opening_id(self.vocabulary) if config.text else PADDING
        make_recipe = RECIPES[config.recipe]
        self.recipe: Recipe = make_recipe(
            self.model, config, encoded, self.vocabulary.eos, self.opening
        )
        self.progress = Progress()
        self.carried: State | None = None  # the state after the last batch
        self.train_trees = len(encoded)
        self.word_vectors = len(vectors.words) if vectors else 0

    def dev_perplexity(self) -> float:
        """Per token: of trees, each from the start state; of text, the state carried through it."""
        if self.config.text:
            return text_perplexity(
                self.model, self.dev, self.vocabulary.eos, self.opening, self.dtype
            )
        return dev_perplexity(self.model, self.dev, self.vocabulary.eos, self.dtype, self.device)

    @property
    def share_done(self) -> float:
        """How much of the budget is used up, 0 to 1; the fast recipe's learning rate follows it."""
        shares = [0.0]
        if self.config.budget_minutes:
            shares.append(self.progress.seconds / 60 / self.config.budget_minutes)
        if self.config.epochs and self.config.recipe != "paper":
            shares.append(self.recipe.batches.progress / self.config.epochs)
        return min(1.0, max(shares))

    def evaluation_due(self, finished: bool) -> bool:
        """Whether to evaluate now: as often as configured and at the end, once for a batch."""
        if finished or self.progress.evaluated_at == self.progress.batches:
            return self.progress.evaluated_at != self.progress.batches
        if self.config.validate_every:
            return self.progress.batches % self.config.validate_every == 0
        return self.recipe.batches.progress % 1 == 0

    def save(self, path: Path) -> None:
        """Write the whole state, for ``resume``."""
        write_atomically(
            path,
            {
                "run": self._identity(),
                "weights": dict(self.model.state_dict()),
                "recipe": self.recipe.state(),
                "place": (self.recipe.batches.epoch, self.recipe.batches.position),
                "carried": self.carried,
                "random": torch.get_rng_state(),
                "progress": {
                    name: getattr(self.progress, name) for name in self.progress.__slots__
                },
            },
        )

    def resume(self, path: Path) -> None:
        """Restore what ``save`` wrote; raises ConfigError for the state of another run."""
        saved = read_archive(path).content
        if not isinstance(saved, dict) or saved.get("run") != self._identity():
            raise ConfigError(
                f"{path}: the state of a run with other settings or trees; "
                "delete it, or choose another log folder"
            )
        self.model.load_state_dict(saved["weights"])
        self.recipe.load_state(saved["recipe"])
        self.recipe.batches.seek(*saved["place"])
        torch.set_rng_state(saved["random"])
        self.progress = Progress(**saved["progress"])
        carried = saved["carried"]
        self.carried = carried and tuple(
            tuple(part.to(self.device) for part in layer) for layer in carried
        )
        logger.info("resuming %s after %d batches", path, self.progress.batches)

    def save_best(self, path: Path) -> None:
        """Write the model with the best weights, and where they come from."""
        self.model.load_state_dict(self.progress.best_weights)
        information = {
            "training": self.config.to_dict(),
            "dev_perplexity": self.progress.best_perplexity,
            "dev_trees": len(self.dev),
            "train_trees": self.train_trees,
            "tokens": self.progress.tokens,
            "epochs": self.recipe.batches.progress,
            "minutes": self.progress.seconds / 60,
            "start_from": self.start_from.name if self.start_from else "",
            "word_vectors": self.word_vectors,
        }
        stored = torch.float16 if self.config.stored_precision == "float16" else torch.float32
        save_checkpoint(path, self.model, self.vocabulary, information, stored)

    def _encoded(self, trees: Sequence[Sequence[str]]) -> list[list[int]]:
        """The ids of trees, or of lines of text."""
        if self.config.text:
            return list(encoded_text(self.vocabulary, trees))
        return [self.vocabulary.encode(tokens) for tokens in trees]

    def _identity(self) -> dict[str, Any]:
        """What a run must share with a saved state to resume from it."""
        settings = self.config.to_dict()
        for budget in ("budget_minutes", "epochs"):  # a run may be given more time
            del settings[budget]
        return {
            "config": settings,
            "vocabulary": self.vocabulary.digest,
            "trees": self.train_trees,
            "word_vectors": self.word_vectors,
        }


def _new_model(
    config: TrainingConfig, trees: Sequence[Sequence[str]], vectors: WordVectors | None
) -> tuple[Vocabulary, LanguageModel]:
    classes = None
    if vectors is not None:
        rare = rare_words(trees, config.minimum_count)
        classes = vectors.classes(rare, config.word_classes)
    is_backward = config.direction == "backward"
    vocabulary = Vocabulary.build(trees, config.minimum_count, classes, is_backward)
    return vocabulary, config.new_model(len(vocabulary))


def _pretrained_model(config: TrainingConfig, path: Path) -> tuple[Vocabulary, LanguageModel]:
    checkpoint = load_checkpoint(path)
    direction = "backward" if checkpoint.vocabulary.backward else "forward"
    if direction != config.direction:
        raise ConfigError(f"{path}: a {direction} model, but direction is {config.direction}")
    model = config.new_model(len(checkpoint.vocabulary))
    try:
        model.load_state_dict(checkpoint.model.state_dict())
    except RuntimeError as error:
        raise ConfigError(f"{path}: its weights do not fit [model]") from error
    return checkpoint.vocabulary, model
