"""The two ways to train: which batches come, what a step does, what an evaluation decides.

A recipe owns its optimiser and its batches and can hand out and take back all it has learned
(``state``), so that the loop in ``reranker.training`` knows one kind of run only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from models import AwdLstmDoc
from reranker.batching import Batch, StreamBatches, TreeBatches
from reranker.training_config import TrainingConfig


class Recipe(Protocol):
    batches: TreeBatches | StreamBatches

    def step(self, batch: Batch, done: float) -> float:
        """Apply the gradients now in the model; ``done`` is the share of the budget used up.
        Returns the learning rate."""

    def evaluated(self, perplexity: float, best: dict[str, Tensor], improved: bool) -> bool:
        """Hear of an evaluation; True when training is over."""

    def evaluation_weights(self) -> Any:
        """A context in which the model holds the weights to evaluate and keep."""

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: dict[str, Any]) -> None: ...


class FastRecipe:
    """AdamW, linear warm-up, linear decay to zero at the end of the budget."""

    def __init__(
        self, model: AwdLstmDoc, config: TrainingConfig, trees: Sequence[Sequence[int]], eos: int
    ) -> None:
        self.model, self.config = model, config
        self.batches = TreeBatches(trees, eos, config.batch_tokens, config.seed)
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.steps = 0

    def step(self, batch: Batch, done: float) -> float:
        self.steps += 1
        warm = min(1.0, self.steps / max(1, self.config.warmup_batches))
        rate = self.config.learning_rate * warm * (1 - done)
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        return rate

    def evaluated(self, perplexity: float, best: dict[str, Tensor], improved: bool) -> bool:
        return False

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        yield

    def state(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict(), "steps": self.steps}

    def load_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps = state["steps"]


class PaperRecipe:
    """SGD until an evaluation finds no gain (phase 0), averaged SGD likewise (phase 1), then
    averaged SGD anew from the best weights, again and again until a phase brings no gain: NT-ASGD
    (Merity et al. 2018, algorithm 1) and repeated fine-tuning (Takase et al. 2018, section 5.3)."""

    def __init__(
        self, model: AwdLstmDoc, config: TrainingConfig, trees: Sequence[Sequence[int]], eos: int
    ) -> None:
        self.model, self.config = model, config
        self.batches = StreamBatches(
            trees, eos, config.batch_size, config.sequence_length, config.seed
        )
        self.phase = 0
        self.history: list[float] = []  # of this phase
        self.phase_improved = False
        self.optimizer = self._optimizer()

    def step(self, batch: Batch, done: float) -> float:
        # A longer segment's mean gradient stands for more tokens.
        rate = self.config.learning_rate * len(batch.inputs) / self.config.sequence_length
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        return rate

    def evaluated(self, perplexity: float, best: dict[str, Tensor], improved: bool) -> bool:
        interval = self.config.non_monotone_interval
        stalled = len(self.history) > interval and perplexity > min(self.history[:-interval])
        self.history.append(perplexity)
        self.phase_improved |= improved
        epochs = self.config.epochs
        if not stalled and not (epochs and len(self.history) >= epochs):
            return False
        if self.phase >= 2 and not self.phase_improved:
            return True
        self.phase += 1
        self.history, self.phase_improved = [], False
        if self.phase >= 2:
            self.model.load_state_dict(best)
        self.optimizer = self._optimizer()
        return False

    @contextmanager
    def evaluation_weights(self) -> Iterator[None]:
        """The averaged weights, once there are any."""
        averages = {
            parameter: state["ax"] for parameter, state in self.optimizer.state.items() if state
        }
        current = {parameter: parameter.detach().clone() for parameter in averages}
        with torch.no_grad():
            for parameter, average in averages.items():
                parameter.copy_(average)
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, value in current.items():
                    parameter.copy_(value)

    def state(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state_dict(),
            "phase": self.phase,
            "history": self.history,
            "phase_improved": self.phase_improved,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.phase, self.history = state["phase"], list(state["history"])
        self.phase_improved = state["phase_improved"]
        self.optimizer = self._optimizer()
        self.optimizer.load_state_dict(state["optimizer"])

    def _optimizer(self) -> torch.optim.Optimizer:
        config, parameters = self.config, self.model.parameters()
        if self.phase == 0:
            return torch.optim.SGD(
                parameters, lr=config.learning_rate, weight_decay=config.weight_decay
            )
        return torch.optim.ASGD(
            parameters, lr=config.learning_rate, t0=0, lambd=0, weight_decay=config.weight_decay
        )


RECIPES = {"fast": FastRecipe, "paper": PaperRecipe}
