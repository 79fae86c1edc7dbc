"""A training run: the model, what trains it, and how far it has come.

The whole state of a run can be saved and restored, so a killed run resumes exactly.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.errors import CheckpointError, ConfigError
from reranker.models import State
from reranker.models.batch import PADDING, Batch
from reranker.plugins.training.loop.config import RunConfig, StoredPrecision
from reranker.plugins.training.loop.recipes import Recipe
from reranker.plugins.training.processes import Processes
from reranker.process.machine import keep_freed_memory

logger = logging.getLogger(__name__)

STORED: dict[StoredPrecision, torch.dtype] = {
    "float16": torch.float16,
    "float32": torch.float32,
    "int8": torch.int8,
    "int6": torch.uint8,
}


@dataclass(slots=True)
class Progress:
    """The progress of a run; the changing part of its saved state."""

    batches: int = 0
    tokens: int = 0
    seconds: float = 0.0
    mean_loss: float = 0.0  # nats per token, a running mean over recent batches
    evaluated_at: int = -1  # batches
    dev: int = 0  # sequences of the dev data that are evaluated; 0: all
    best_perplexity: float = math.inf  # on the dev trees, per token
    best_weights: dict[str, Tensor] = field(default_factory=dict)


class Run(ABC):
    """One training run from its first batch to its checkpoint."""

    model: nn.Module
    recipe: Recipe
    dev: list[Any]
    unit = "token"  # of perplexity

    def __init__(self, config: RunConfig, device: str, processes: Processes) -> None:
        """Seed the random numbers, before anything uses them. With several processes, each must
        create the run, in ``processes.agreeing()``. Raises ConfigError if batches are cut into
        fewer shards than there are processes."""
        if processes.size > max(1, config.shards):
            raise ConfigError(
                f"{processes.size} processes, but shards is {config.shards}: each has to have one"
            )
        keep_freed_memory()
        torch.set_flush_denormal(True)  # gradients full of denormals run a hundred times slower
        torch.manual_seed(config.seed)
        self.config, self.device, self.processes = config, device, processes
        self.progress = Progress()
        self.carried: State | None = None  # the state after the last batch
        self.carried_shards: dict[int, State] = {}  # by the number of a shard computed here
        self.speed = (0.0, 0, 0)  # seconds of training in this process, tokens, and batches
        self.evaluation_seconds = 0.0  # of the longest evaluation so far

    @abstractmethod
    def backward(self, batch: Batch) -> tuple[float, int]:
        """Add the objective's gradients; return the loss in nats per token, and the tokens."""

    def shard(self, batch: Batch, number: int) -> Batch | None:
        """Return one of ``config.shards`` parts of a batch; None if it has too few columns."""
        columns = slice(number, None, self.config.shards)
        inputs, targets = (part[:, columns].contiguous() for part in batch[:2])
        if not inputs.shape[1]:
            return None
        source = batch.source if batch.source is None else batch.source[:, columns].contiguous()
        sentences = batch.sentences[columns]
        return batch._replace(inputs=inputs, targets=targets, source=source, sentences=sentences)

    def weight(self, batch: Batch) -> int:
        """Return the weight of ``backward``'s gradient in a mean over several batches: the number
        of tokens, over which the loss of ``backward`` is a mean."""
        return int((batch.targets != PADDING).sum())

    @property
    @abstractmethod
    def dev_tokens(self) -> int:
        """Return the number of tokens of the dev data, as ``backward`` counts them."""

    @abstractmethod
    def dev_perplexity(self) -> float:
        """Return perplexity per token of the dev data, ``<eos>`` included."""

    @abstractmethod
    def write_checkpoint(self, path: Path) -> None:
        """Write the model in its current state, with its origin."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return everything in which a run must agree with a saved state to resume from it."""

    @property
    def share_done(self) -> float:
        """Return the share of the budget used so far, 0 to 1; learning rates follow it."""
        shares = [self._share_of_time]
        if self.config.epochs and self.config.recipe != "paper":
            shares.append(self.recipe.batches.progress / self.config.epochs)
        return min(1.0, max(shares))

    def end_time(self) -> None:
        """Count what is left of the minutes as used if there is no time for another batch: the same
        command would otherwise go on."""
        if self._share_of_time >= 1:
            seconds = 60 * self.config.budget_minutes
            self.progress.seconds = max(self.progress.seconds, seconds)

    @property
    def _share_of_time(self) -> float:
        """Return the share of the minutes used so far. The minutes include the last evaluation, for
        which up to half of them are kept."""
        if not self.config.budget_minutes:
            return 0.0
        budget = 60 * self.config.budget_minutes
        return self.progress.seconds / (budget - min(self._kept_seconds(), budget / 2))

    def shorten_dev(self) -> None:
        """Before the first evaluation, leave out dev data for which half of the minutes would not
        suffice, as far as the speed of training tells."""
        seconds, tokens, _ = self.speed
        if not self.config.budget_minutes or self.progress.best_weights or not tokens:
            return
        share = 30 * self.config.budget_minutes * tokens / (seconds * self.dev_tokens)
        kept = int(self.processes.first(max(1, int(share * len(self.dev)))))
        if kept < len(self.dev):
            logger.warning(
                "only the first %d of %d dev sequences are evaluated: all would take more than "
                "half of --budget",
                kept,
                len(self.dev),
            )
            self.progress.dev, self.dev = kept, self.dev[:kept]

    def _kept_seconds(self) -> float:
        """Return the time that a batch and an evaluation take: as long as the longest evaluation
        or, before the first, as long as training on so many tokens, which takes longer."""
        seconds, tokens, batches = self.speed
        evaluation = self.evaluation_seconds or self.dev_tokens * seconds / max(1, tokens)
        return seconds / max(1, batches) + evaluation

    def evaluation_due(self, finished: bool) -> bool:
        """Return whether to evaluate now: as configured and at the end, once a batch at most."""
        if finished or self.progress.evaluated_at == self.progress.batches:
            return self.progress.evaluated_at != self.progress.batches
        if self.config.validate_every:
            return self.progress.batches % self.config.validate_every == 0
        return self.recipe.batches.progress % 1 == 0

    def save(self, path: Path) -> None:
        """Write the whole state, for ``resume``. All processes must call this; one writes. Raises
        RerankError, in all of them, if it cannot be written; the previous state stays."""
        carried: State | dict[int, State] | None = self.carried
        if self.config.shards:
            parts = self.processes.gather(_moved(self.carried_shards, "cpu"))
            carried = {number: state for part in parts for number, state in part.items()}
        state = {
            "run": self.identity(),
            "weights": dict(self.model.state_dict()),
            "recipe": self.recipe.state(),
            "place": (self.recipe.batches.epoch, self.recipe.batches.position),
            "carried": carried,
            "random": torch.get_rng_state(),
            **({"device_random": torch.cuda.get_rng_state(self.device)} if self._on_gpu else {}),
            "progress": {name: getattr(self.progress, name) for name in self.progress.__slots__},
        }
        with self.processes.agreeing():
            if self.processes.is_first:
                write_atomically(path, state)

    def resume(self, path: Path) -> None:
        """Restore a state that ``save`` wrote. Raises ConfigError for the state of another run, and
        CheckpointError for a damaged file."""
        try:
            saved = read_archive(path).content
        except CheckpointError as error:
            raise CheckpointError(
                f"{error}; to train from the beginning, delete it, or choose another log folder"
            ) from error
        if not isinstance(saved, dict) or saved.get("run") != self.identity():
            raise ConfigError(
                f"{path}: the state of a run with different settings or trees"
                f"{_differences(saved, self.identity())}; delete it, or choose another log folder"
            )
        self.model.load_state_dict(saved["weights"])
        self.recipe.load_state(saved["recipe"])
        self.recipe.batches.seek(*saved["place"])
        torch.set_rng_state(saved["random"])
        if self._on_gpu and "device_random" in saved:  # for dropout; a run on a CPU saves none
            torch.cuda.set_rng_state(saved["device_random"], self.device)
        self.progress = Progress(**saved["progress"])
        self.dev = self.dev[: self.progress.dev or None]
        carried = saved["carried"]
        if self.config.shards:
            self.carried_shards = _moved(carried, self.device)
        elif carried:
            self.carried = _moved({0: carried}, self.device)[0]
        logger.info("resuming %s after %d batches", path, self.progress.batches)

    def save_best(self, path: Path) -> None:
        """Write the checkpoint with the best weights."""
        self.model.load_state_dict(self.progress.best_weights)
        self.write_checkpoint(path)

    def settings(self) -> dict[str, Any]:
        """Return the configuration without budgets: a run may be given more time."""
        settings = self.config.to_dict()
        for budget in ("budget_minutes", "epochs"):
            del settings[budget]
        return settings

    def trained(self) -> dict[str, Any]:
        """Return a checkpoint's information about its training."""
        return {
            "language": self.config.language,
            "training": self.config.to_dict(),
            "dev_perplexity": self.progress.best_perplexity,
            "tokens": self.progress.tokens,
            "epochs": self.recipe.batches.progress,
            "minutes": self.progress.seconds / 60,
        }

    @property
    def _on_gpu(self) -> bool:
        return self.device.startswith("cuda")

    @property
    def stored(self) -> torch.dtype:
        """Return the type in which weights are stored."""
        return STORED[self.config.stored_precision]


class NewRun(NamedTuple):
    """A run that is to be created, and the data that were read for it."""

    create: Callable[..., Run]  # takes ``device`` and ``processes``
    train: int | str
    dev: int
    noun: str


def _differences(saved: Any, identity: dict[str, Any]) -> str:
    """Name the settings in which a saved state and a run differ; empty if none can be named."""
    run = saved.get("run") if isinstance(saved, dict) else None
    config = run.get("config") if isinstance(run, dict) else None
    if not (isinstance(run, dict) and isinstance(config, dict)):
        return ""
    there, here = (
        {**of, **(of.get("model") or {}), "teacher": each.get("teacher", "")[:8] or "none"}
        for each, of in ((run, config), (identity, identity["config"]))
    )
    differing = [
        f"{name} is {there.get(name, 'unset')}, not {here.get(name, 'unset')}"
        for name in {**here, **there}
        if name != "model" and there.get(name) != here.get(name)
    ]
    return f" ({'; '.join(differing)})" if differing else ""


def _moved(states: dict[int, State], device: str) -> dict[int, State]:
    """Return the states, on ``device``."""
    return {
        number: tuple(tuple(part.to(device) for part in layer) for layer in state)
        for number, state in states.items()
    }
