"""Measures by how much a span model is overconfident about its trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from reranker.chart.best import Gains
from reranker.chart.marginals import log_partition
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL
from reranker.models.span_model import SpanModel
from reranker.plugins.training.spans.sentences import LabelledSentence, WordTable
from reranker.scoring.span_table import label_table

_MOST_SENTENCES, _MOST_WORDS = 300, 80
_LOWEST, _HIGHEST, _PRECISION = 0.25, 4.0, 0.01


def fitted_temperature(
    model: SpanModel, sentences: Sequence[LabelledSentence], table: WordTable
) -> float:
    """Fit the temperature of ``chart.marginals`` under which the trees of the sentences, or of some
    of them, are most probable; 1 if none can be used. Each span is learned by itself, but a tree
    has many: without a temperature, brackets would seem more certain than they are (Guo et al.
    2017)."""
    usable = [
        each
        for each in sentences
        if each.length <= _MOST_WORDS
        and each.constituents is not None
        and not (each.constituents[:, 2] == RARE_LABEL).any()
    ]
    chosen = usable[:: max(1, len(usable) // _MOST_SENTENCES)]
    if not chosen:
        return 1.0
    trees = [_gains(model, sentence, table) for sentence in chosen]

    def loss(log_temperature: float) -> float:
        """Return the negative log-likelihood of the trees, in nats."""
        temperature = math.exp(log_temperature)
        return sum(log_partition(gains, temperature) - gold / temperature for gains, gold in trees)

    lowest = _minimum(loss, math.log(_LOWEST), math.log(_HIGHEST))
    return round(math.exp(lowest), 3)


def _gains(model: SpanModel, sentence: LabelledSentence, table: WordTable) -> tuple[Gains, float]:
    """Return the gains for a chart, and the score of the sentence's own tree."""
    device = model.embedding.device
    words, features = (each[:, 0] for each in table.read([sentence.words]))
    with torch.inference_mode():
        labels = label_table(model, model.read_one(words.to(device), features.to(device)))
    assert sentence.constituents is not None
    none = labels[:, :, NO_LABEL].astype(np.float64)
    gold = sum(
        float(labels[start, end - 1, label] - none[start, end - 1])
        for start, end, label in sentence.constituents.tolist()
    )
    return Gains(labels[:, :, RARE_LABEL + 1 :], none), gold


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the position of a function's only minimum, by golden-section search."""
    ratio = (math.sqrt(5) - 1) / 2
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [function(inner[0]), function(inner[1])]
    while high - low > _PRECISION:
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - ratio * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + ratio * (high - low)
            values[1] = function(inner[1])
    return (low + high) / 2
