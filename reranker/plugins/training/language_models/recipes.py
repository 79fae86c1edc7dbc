"""The recipes of papers, which train a language model on one stream of trees or text."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from reranker.models import LanguageModel
from reranker.models.batch import Batch
from reranker.plugins.training.corpus.batches import StreamBatches
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.loop.recipes import Average, Recipe


class ThesisRecipe(Recipe):
    """Adam with one learning rate throughout, on segments of ``sequence_length`` tokens of a stream
    in ``batch_size`` columns (Daniluk 2016, section 4.2)."""

    def __init__(
        self, model: LanguageModel, config: TrainingConfig, batches: StreamBatches
    ) -> None:
        self.rate, self.batches = config.learning_rate, batches
        self.optimizer = torch.optim.Adam(
            model.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.999),
            weight_decay=config.weight_decay,
            fused=True,
        )

    def step(self, batch: Batch, done: float) -> float:
        self.optimizer.step()
        return self.rate

    def state(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])


class PaperRecipe(Recipe):
    """SGD until evaluations stop improving (phase 0), then averaged SGD likewise (phase 1), then
    averaged SGD from the best weights, repeated until a phase brings no improvement: NT-ASGD
    (Merity et al. 2018, algorithm 1) and, unless ``fine_tuning`` is off, repeated fine-tuning
    (Takase et al. 2018, section 5.3)."""

    history: list[float]  # dev perplexities of this phase

    def __init__(
        self, model: LanguageModel, config: TrainingConfig, batches: StreamBatches
    ) -> None:
        self.model, self.config, self.batches = model, config, batches
        # torch.optim.ASGD would use each rate one step late, and ours differs from step to step.
        self.optimizer = torch.optim.SGD(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.average = Average(model)
        self._start_phase(0)

    def step(self, batch: Batch, done: float) -> float:
        # A longer segment's mean gradient stands for more tokens.
        rate = self.config.learning_rate * len(batch.inputs) / self.config.sequence_length
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        self.average.add()
        return rate

    def evaluated(self, perplexity: float, best: dict[str, Tensor], improved: bool) -> None:
        self.history.append(perplexity)
        self.phase_improved |= improved
        if self._phase_is_over() and not self.finished:
            if self.phase >= 1:
                self.model.load_state_dict(best)
            self._start_phase(self.phase + 1)

    @property
    def finished(self) -> bool:
        if not self.config.fine_tuning:
            return self.phase >= 1 and self._phase_is_over()
        return self.phase >= 2 and not self.phase_improved and self._phase_is_over()

    def evaluation_weights(self) -> AbstractContextManager[None]:
        return self.average.in_place()

    def state(self) -> dict[str, Any]:
        average = {"phase_steps": self.average.steps, "averages": self.average.weights}
        return {name: getattr(self, name) for name in self._STATE} | average

    def load_state(self, state: dict[str, Any]) -> None:
        for name in self._STATE:
            setattr(self, name, state[name])
        self.average.load(state["phase_steps"], state["averages"])

    _STATE = ("phase", "phase_began", "phase_improved", "history")

    def _start_phase(self, phase: int) -> None:
        self.phase = phase
        self.phase_began = self.batches.progress  # epochs
        self.phase_improved = False
        self.history = []
        self.average.load(0, {})
        if phase:
            self.average.start()

    def _phase_is_over(self) -> bool:
        """Return whether the last evaluation is worse than the best of those more than
        ``non_monotone_interval`` evaluations earlier, or the phase has used up its epochs."""
        *earlier, latest = self.history or (0.0,)
        interval = self.config.non_monotone_interval
        stalled = len(earlier) > interval and latest > min(earlier[:-interval])
        length = self.batches.progress - self.phase_began
        return stalled or bool(self.config.epochs and length >= self.config.epochs)
