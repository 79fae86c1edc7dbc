"""The ways to train: the order of batches, what a step does, what an evaluation decides.

A recipe owns its optimiser and its batches and can save and restore its whole state (``state``), so
the loop in ``reranker.plugins.training.loop.train`` is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from reranker.models.batch import Batch
from reranker.plugins.training.corpus.batches import Batches
from reranker.plugins.training.loop.config import RunConfig


class Recipe(ABC):
    """A way to train ``model``."""

    batches: Batches[Any]

    @abstractmethod
    def step(self, batch: Batch, done: float) -> float:
        """Apply the gradients of the model's parameters; ``done`` is the share of the budget used
        so far. Returns the learning rate."""

    def evaluated(self, perplexity: float, best: dict[str, Tensor], improved: bool) -> None:
        """Decide what follows an evaluation; ``best`` has the weights with the lowest perplexity so
        far, which are the evaluated ones if ``improved``."""
        return

    @property
    def finished(self) -> bool:
        """Return whether more training would not help, whatever the budget."""
        return False

    def evaluation_weights(self) -> AbstractContextManager[None]:
        """Return a context in which the model holds the weights to evaluate and keep."""
        return nullcontext()

    @abstractmethod
    def state(self) -> dict[str, Any]: ...

    @abstractmethod
    def load_state(self, state: dict[str, Any]) -> None: ...


class Average:
    """The mean of a model's weights over the steps since ``start``."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.steps = 0
        self.weights: dict[str, Tensor] = {}

    def start(self) -> None:
        self.steps = 0
        self.weights = {name: p.detach().clone() for name, p in self.model.named_parameters()}

    def add(self) -> None:
        """Count the weights after a step."""
        self.steps += 1
        if not self.weights:
            return
        weights: list[Tensor] = [*map(self.model.get_parameter, self.weights)]
        with torch.no_grad():  # in few kernels, which matters on a GPU
            torch._foreach_lerp_([*self.weights.values()], weights, 1 / self.steps)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the model the averaged weights, once there are any, until the end of the context."""
        current = {name: self.model.get_parameter(name).detach().clone() for name in self.weights}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(current)

    def load(self, steps: int, weights: dict[str, Tensor]) -> None:
        self.steps = steps
        device = next(self.model.parameters()).device
        self.weights = {name: average.to(device) for name, average in weights.items()}

    def _put(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, value in weights.items():
                self.model.get_parameter(name).copy_(value)


class FastRecipe(Recipe):
    """AdamW, linear warm-up, linear decay to zero at the end of the budget. With ``averaged``,
    the rate stays from where that share of the budget is left, and weights are averaged."""

    def __init__(
        self,
        model: nn.Module,
        config: RunConfig,
        batches: Batches[Any],
        slow: Iterable[nn.Parameter] = (),
        share: float = 1.0,
    ) -> None:
        """Take ``slow`` parameters, which learn at ``share`` of the rate."""
        self.model, self.config, self.batches = model, config, batches
        later = [*slow]
        known = {*later}
        first = [weight for weight in model.parameters() if weight not in known]
        self.shares = (1.0, share)[: 2 if later else 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": group} for group in (first, later)[: len(self.shares)]],
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.steps = 0
        self.average = Average(model)

    def step(self, batch: Batch, done: float) -> float:
        self.steps += 1
        warm = min(1.0, self.steps / max(1, self.config.warmup_batches))
        decay = 1 - self.config.averaged  # over this share of the budget
        rate = self.config.learning_rate * warm * (1 - min(done, decay))
        for group, share in zip(self.optimizer.param_groups, self.shares, strict=True):
            group["lr"] = rate * share
        self.optimizer.step()
        if done > decay:
            if not self.average.weights:
                self.average.start()
            self.average.add()
        return rate

    def evaluation_weights(self) -> AbstractContextManager[None]:
        return self.average.in_place()

    def state(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state_dict(),
            "steps": self.steps,
            "averaged_steps": self.average.steps,
            "averages": self.average.weights,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps = state["steps"]
        self.average.load(state["averaged_steps"], state["averages"])
