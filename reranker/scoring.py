"""Tokens -> log-probability, for many candidates and one language model.

The candidates of a sentence share most of their beginnings, so they are laid out as a trie and
each shared prefix is computed once. The trie is walked level by level; only the live level's
recurrent state is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from models import LanguageModel, State, mixture
from models.coarse import Coarse
from reranker.lanes import Call
from reranker.trie import Level, Numbers, Trie

# Rows of one step and one decoding; bounds memory however many candidates there are.
MAX_ROWS = 2_048


def edge_log_probabilities(
    model: LanguageModel, trie: Trie, call: Call | None = None, coarse: Coarse | None = None
) -> NDArray[np.float64]:
    """log P(next token | prefix) of every edge, in nats, in the order ``Trie.paths`` counts them.

    Every sequence starts from the zero state and reads ``<eos>`` first. With ``coarse``, the stand-
    in of the model's output, upper bounds of them (but for float32's rounding). Raises Stopped when
    ``call`` is over.
    """
    results = [torch.zeros(0, dtype=torch.float64)]
    with torch.inference_mode():
        state = model.initial_state(1)
        for level in trie.levels if call is None else call.watched(trie.levels):
            state, values = _level(model, level, state, coarse)
            results.append(values)
    return torch.cat(results).double().cpu().numpy()


def _level(
    model: LanguageModel, level: Level, state: State, coarse: Coarse | None
) -> tuple[State, Tensor]:
    """Step every prefix of a level, ``MAX_ROWS`` at a time; the new state and the edges' values."""
    parts = _multiple(-(-len(level.tokens) // -(-len(level.tokens) // MAX_ROWS)))
    states, values = [], []
    for start in range(0, len(level.tokens), parts):
        rows = slice(start, start + parts)
        edges = slice(*np.searchsorted(level.edge_rows, (start, start + parts)))
        parents, tokens, edge_rows, targets = (
            _padded(part, model.embedding.device)
            for part in (
                level.parents[rows],
                level.tokens[rows],
                level.edge_rows[edges] - start,
                level.edge_targets[edges],
            )
        )
        before = tuple(tuple(part[parents] for part in layer) for layer in state)
        features, after = model.step(tokens, before)
        states.append(after)
        real = features.components[: len(level.tokens[rows])]
        output = coarse or Coarse(model.output_weight, model.decoder_bias)
        log_sums = mixture.log_normalisers(real, output.weight, output.bias)
        found = mixture.continuations(
            features.components,
            features.log_weights,
            log_sums,
            model.output_weight,
            model.decoder_bias,
            edge_rows,
            targets,
        )
        values.append(found[: edges.stop - edges.start])
    if len(states) == 1:
        return states[0], values[0]
    layers = zip(*states, strict=True)
    joined = (tuple(torch.cat(one) for one in zip(*layer, strict=True)) for layer in layers)
    return tuple(joined), torch.cat(values)


def _padded(numbers: Numbers, device: torch.device) -> Tensor:
    """On the device, filled with zeros up to a multiple of ``mixture.ROW_MULTIPLE``: what they stand for is
    computed and never asked for."""
    padding = _multiple(len(numbers)) - len(numbers)
    return functional.pad(torch.from_numpy(numbers), (0, padding)).to(device, non_blocking=True)


def _multiple(count: int) -> int:
    return -(-count // mixture.ROW_MULTIPLE) * mixture.ROW_MULTIPLE


def score_one_by_one(
    model: LanguageModel, sequences: Sequence[Sequence[int]], eos: int
) -> NDArray[np.float64]:
    """The same totals the obvious way, one sequence at a time through the whole vocabulary: what
    tests and benchmarks compare with."""
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
