"""The settings of training a span model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.models.piece_encoder import PieceConfig
from reranker.models.span_model import SpanConfig, SpanModel
from reranker.plugins.training.loop.config import RunConfig


@dataclass(frozen=True, slots=True)
class SpanTrainingConfig(RunConfig):
    """The settings of a training: AdamW with warm-up and linear decay to zero over the budget,
    batches of sentences with the same number of words."""

    recipe: Literal["fast"] = "fast"
    minimum_count: int = 2  # rarer words and labels are not told apart
    minimum_tags: int = 0  # rarer part-of-speech tags are not learned; 0: none are
    batch_tokens: int = 1_500  # words
    batch_spans: int = 40_000  # at most; long sentences have many
    known_vectors: int = 40_000  # kept in the checkpoint: the training trees' and the most frequent
    known_pieces: int = 16_000  # of an encoder: the training trees' and the most frequent
    encoder_rate: float = 0.1  # of an encoder, a share of the learning rate; 0: it stays as it is
    taught_share: float = 0.5  # of the loss, with a teacher, for its probabilities
    unknown_share: float = 0.8375  # a word seen n times is unknown once in 1 + n / this
    precision: Literal["bfloat16", "float32"] = "float32"  # of matrix products; weights are float32

    def check(self) -> None:
        RunConfig.check(self)
        self.at_least_one("batch_spans", "known_pieces", "minimum_count")
        if self.taught_share > 1:
            raise ValueError(f"taught_share must be a share, at most 1, got {self.taught_share}")
        self.model_config(1, 1, 1)

    @property
    def architecture(self) -> str:
        return SpanModel.architecture

    @property
    def spelling_rows(self) -> int:
        """Return the number of rows for letter n-grams."""
        return self.model_config(1, 1, 1).spelling_rows

    def model_config(
        self,
        word_count: int,
        vector_count: int,
        label_count: int,
        vector_size: int = 1,
        encoder: PieceConfig | None = None,
        tag_count: int = 0,
    ) -> SpanConfig:
        """Return the model's configuration. Raises TypeError or ValueError for a wrong setting."""
        sources = {"vector_size": "--vectors", "encoder": "--encoder", "tag_count": "--train"}
        for name, source in sources.items():
            if name in self.model:
                raise ValueError(f"{name} comes from {source} and cannot be set")
        settings = self.model_settings(SpanConfig)
        return SpanConfig(
            word_count,
            vector_count,
            label_count,
            vector_size=vector_size,
            encoder=encoder,
            tag_count=tag_count,
            **settings,
        )
