"""Scores computed the obvious way, for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.checkpoints.span_vocabulary import NO_LABEL, SpanVocabulary
from reranker.models import LanguageModel
from reranker.models.span_model import SpanModel, span_ends
from reranker.trees.constituents import constituents
from reranker.trees.linearize import is_word


def score_one_by_one(
    model: LanguageModel, sequences: Sequence[Sequence[int]], eos: int
) -> NDArray[np.float64]:
    """Compute each sequence's log-probability, one at a time through the whole vocabulary."""
    totals = []
    device = model.embedding.device
    with torch.inference_mode():
        for ids in sequences:
            inputs = torch.tensor([eos, *ids[:-1]], device=device).unsqueeze(1)
            features, _ = model(inputs, model.initial_state(1))
            table = model.log_probabilities(features)[:, 0]
            picked = table.gather(1, torch.tensor(ids, device=device).unsqueeze(1))
            totals.append(float(picked.double().sum()))
    return np.array(totals)


def score_spans_one_by_one(
    model: SpanModel, vocabulary: SpanVocabulary, sequences: Iterable[Sequence[str]]
) -> NDArray[np.float64]:
    """Compute the log-probability of each sequence's tree from all spans of its sentence."""
    totals = []
    with torch.inference_mode():
        for tokens in sequences:
            rows, features = vocabulary.encode([token for token in tokens if is_word(token)])
            labels = {(c.start, c.end): vocabulary.label(c.label) for c in constituents(tokens)}
            total = 0.0
            data = model.read_one(torch.tensor(rows), torch.tensor(features))
            starts, ends = span_ends(len(rows) - 2)
            spans = zip(starts.tolist(), ends.tolist(), strict=True)
            for _, some in model.label_log_probabilities(data):
                for by_label, span in zip(some.tolist(), spans, strict=False):
                    total += by_label[labels.get(span, NO_LABEL)]
            totals.append(total)
    return np.array(totals)
