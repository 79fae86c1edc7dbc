"""The settings of training an encoder-decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from reranker.plugins.generation.pair_vocabulary import Task
from reranker.plugins.training.loop.config import RunConfig


@dataclass(frozen=True, slots=True)
class PairConfig(RunConfig):
    """The settings of a training. ``recipe`` is one of two; each ignores the settings of the other.

    ``fast``: AdamW with warm-up and linear decay to zero over the budget.
    ``sgd``: as Suzuki et al. (2018) do: SGD on the loss of a sentence, a rate that decays after
    ``steady_epochs``, clipping, for ``epochs``.
    """

    recipe: Literal["fast", "sgd"] = "fast"
    task: Task = "text"
    tags: bool = True  # parsing: parts of speech stand for words, not XX
    merges: int = 1_000  # of byte-pair encoding; 0: words are not split
    minimum_count: int = 2  # parsing: rarer source words are unknown
    start: Literal["fast", "uniform"] = "fast"  # how weights are initialised
    steady_epochs: float = 50.0  # sgd
    decay: float = 0.9  # sgd: of the learning rate in every later epoch

    def check(self) -> None:
        RunConfig.check(self)
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be in (0, 1], got {self.decay}")
        self.model_config(vocabulary_size=1, source_vocabulary_size=1)

    @property
    def architecture(self) -> str:
        return EncoderDecoder.architecture

    def model_config(
        self, vocabulary_size: int, source_vocabulary_size: int
    ) -> EncoderDecoderConfig:
        """Return the model's configuration. Raises TypeError or ValueError for a wrong setting."""
        return EncoderDecoderConfig(
            vocabulary_size=vocabulary_size,
            source_vocabulary_size=source_vocabulary_size,
            **self.model_settings(EncoderDecoderConfig),
        )
