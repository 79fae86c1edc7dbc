"""The arithmetic a model cannot do without, from its sizes."""

from __future__ import annotations

from typing import NamedTuple

from reranker.models import Config


class Work(NamedTuple):
    """Floating-point operations to read one token and know the next one's normaliser.

    A multiplication and an addition count two; activations and exponentials are left out.
    """

    lstm: int
    projections: int
    decoder: int

    @property
    def total(self) -> int:
        return sum(self)


def work_per_token(config: Config) -> Work:
    """Four gates of every layer; k_j (equation 11) and pi (10); J logits for every word (7)."""
    size, hidden = config.embedding_size, config.hidden_sizes
    sizes = (size, *hidden)
    lstm = sum(
        2 * 4 * after * (before + after) for before, after in zip(sizes, hidden, strict=False)
    )
    mixture = sum(config.components)
    width = size if config.components else hidden[-1]
    projections = sum(
        2 * source * count * size for source, count in zip(sizes, config.components, strict=False)
    )
    if mixture > 1:
        projections += 2 * hidden[-1] * mixture
    decoder = 2 * max(mixture, 1) * width * config.vocabulary_size
    return Work(lstm, projections, decoder)
