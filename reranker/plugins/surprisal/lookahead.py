"""The words to expect after a bracket: hypotheses that can lead to the next word are read first
(the look-ahead of Roark 2001, "Probabilistic Top-Down Parsing and Language Modeling"). The
estimate only orders continuations: it never enters a probability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.models import LanguageModel
from reranker.plugins.surprisal.forward import ForwardModels, Numbers

# Trees that are drawn from the first model side by side, to see which token follows which.
_TREES, _TOKENS, _SEED = 64, 60, 1
_PRIOR = 4.0  # words after any opening, or closing, that count for each of them


def lookahead(models: ForwardModels) -> NDArray[np.float32]:
    """Return the result of ``_estimated``, which is computed once per ensemble."""
    return models.kept.get("lookahead", lambda: _estimated(models))


def _estimated(models: ForwardModels) -> NDArray[np.float32]:
    """Estimate log P(w is the next word or ``<eos>`` | last bracket) of each action and token, in
    nats, [2 L, V], from trees that the model makes up."""
    labels, size = len(models.labels), len(models.vocabulary)
    action = np.full(size, -1)
    action[models.brackets] = np.arange(2 * labels)
    is_word = action < 0
    sums, counts = np.zeros((2 * labels, size), np.float32), np.zeros((2 * labels, 1))
    since: list[list[int]] = [[] for _ in range(_TREES)]  # brackets after the last word
    for probabilities, tokens in _drawn(models.members[0].model, models.vocabulary.eos):
        for tree, token in enumerate(tokens):
            if not is_word[token]:
                since[tree].append(int(action[token]))
                continue
            if since[tree]:
                words = np.where(is_word, probabilities[tree], 0)
                np.add.at(sums, since[tree], words / words.sum())
                np.add.at(counts, since[tree], 1)
            since[tree] = []
    for half in (slice(labels), slice(labels, None)):
        sums[half] += _PRIOR * sums[half].sum(0) / max(1.0, counts[half].sum())
    return np.log(sums / (counts + _PRIOR) + np.float32(1e-7)).astype(np.float32)


def _drawn(model: LanguageModel, eos: int) -> Iterator[tuple[NDArray[np.float32], Numbers]]:
    """Step by step: P of each token [trees, V], and the token that was drawn for each tree. After
    ``<eos>`` comes another tree."""
    random = np.random.default_rng(_SEED)
    start = model.initial_state(_TREES)
    state, tokens = start, torch.full((_TREES,), eos)
    with torch.inference_mode():
        for _ in range(_TOKENS):
            begins = tokens == eos
            state = tuple(
                tuple(
                    torch.where(begins.view(-1, *(1,) * (old.dim() - 1)), new, old)
                    for new, old in zip(*layers, strict=True)
                )
                for layers in zip(start, state, strict=True)
            )
            features, state = model.step(tokens, state)
            probabilities = model.log_probabilities(features).exp().float().numpy()
            sums = probabilities.cumsum(1)
            drawn = (sums < random.random((_TREES, 1)) * sums[:, -1:]).sum(1)
            tokens = torch.from_numpy(drawn)
            yield probabilities, drawn
