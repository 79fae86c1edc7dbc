"""All trees of short sentences, the obvious way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from reranker.chart.best import Gains, Span, Values


def gains_of(values: Values) -> Gains:
    """Return gains [words, words, labels], in nats."""
    return Gains(values, np.zeros(values.shape[:2]))


def random_gains(words: int, labels: int, seed: int) -> Gains:
    generator = np.random.default_rng(seed)
    none = generator.normal(0.0, 2.0, (words, words))
    return Gains(generator.normal(0.0, 2.0, (words, words, labels)), none)


def all_trees(words: int, labels: int) -> Iterator[frozenset[Span]]:
    """Yield every set of constituents that do not cross, with every label."""
    spans = [(start, end) for start in range(words) for end in range(start + 1, words + 1)]
    for chosen in product((False, True), repeat=len(spans)):
        kept = [span for span, is_there in zip(spans, chosen, strict=True) if is_there]
        if any(a < c < b < d for a, b in kept for c, d in kept):
            continue
        for numbers in product(range(labels), repeat=len(kept)):
            yield frozenset(
                Span(start, end, label) for (start, end), label in zip(kept, numbers, strict=True)
            )


def score(tree: frozenset[Span], gains: Gains) -> float:
    return float(sum(gains.of(span.start, span.end - 1)[span.label] for span in tree))
