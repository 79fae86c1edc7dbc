"""Tokens -> log-probability, for many candidates and one language model.

The candidates of a sentence share most of their beginnings, so they are laid out as a trie and
each shared prefix is computed once. The trie is walked level by level with only the live level's
recurrent state kept; words are predicted for many levels' prefixes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reranker.models import LanguageModel, mixture
from reranker.scoring.lanes import Cancellation
from reranker.scoring.rows import row_multiple
from reranker.scoring.trie import Numbers, Trie

# Rows of one step and one decoding; bounds memory however many candidates there are.
MAX_ROWS = 2_048

Outputs = tuple[Tensor, ...]  # [rows, H] of each layer that words are predicted from


def edge_log_probabilities(
    model: LanguageModel, trie: Trie, cancellation: Cancellation | None = None
) -> NDArray[np.float64]:
    """log P(next token | prefix) of every edge, in nats, in the order ``Trie.paths`` counts them.

    Every sequence starts from the zero state and reads ``<eos>`` first. Raises Stopped if
    cancelled.
    """
    values = np.empty(trie.edges)
    done = 0
    for outputs in _gathered(walked(model, trie, cancellation)):
        count = len(outputs[0])
        edges = slice(*np.searchsorted(trie.edge_rows, (done, done + count)))
        rows, targets = trie.edge_rows[edges] - done, trie.edge_targets[edges]
        values[edges] = decoded(model, outputs, rows, targets)
        done += count
    return values


def walked(
    model: LanguageModel, trie: Trie, cancellation: Cancellation | None
) -> Iterator[Outputs]:
    """The outputs for every row of the trie, in order, a level or a part of one at a time."""
    with torch.inference_mode():
        state = model.initial_state(1)
        levels = trie.levels if cancellation is None else cancellation.checked(trie.levels)
        for level in levels:
            count = len(level.tokens)
            step = _multiple(-(-count // -(-count // MAX_ROWS)))
            states = []
            for start in range(0, count, step):
                rows = slice(start, start + step)
                multiple = row_multiple(model, len(level.tokens[rows]))
                parents, tokens = (
                    _padded(part[rows], model.embedding.device, multiple)
                    for part in (level.parents, level.tokens)
                )
                before = tuple(tuple(part[parents] for part in layer) for layer in state)
                outputs, after = model.advance(tokens, before)
                states.append(after)
                yield tuple(part[: len(level.tokens[rows])] for part in outputs)
            if len(states) == 1:
                state = states[0]
            else:
                layers = zip(*states, strict=True)
                state = tuple(joined(list(layer)) for layer in layers)


def _gathered(parts: Iterator[Outputs]) -> Iterator[Outputs]:
    """The same rows, ``MAX_ROWS`` or somewhat more at a time."""
    held: list[Outputs] = []
    for outputs in parts:
        held.append(outputs)
        if sum(len(part[0]) for part in held) >= MAX_ROWS:
            yield joined(held)
            held = []
    if held:
        yield joined(held)


def joined(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(same) for same in zip(*parts, strict=True))


def decoded(
    model: LanguageModel,
    outputs: Outputs,
    rows: Numbers,
    targets: Numbers,
    stand_in: tuple[Tensor, Tensor] | None = None,
) -> NDArray[np.float64]:
    """log P of ``targets`` [N] after ``rows`` [N] of the outputs, in nats; normalised over
    ``stand_in``, a weight [V', D] and a bias [V'], in place of the model's own, if given."""
    if not len(rows):
        return np.zeros(0)
    with torch.inference_mode():
        count = len(outputs[0])
        padding = _multiple(count) - count
        components, log_weights = model.mixed(
            [functional.pad(part, (0, 0, 0, padding)) for part in outputs]
        )
        weight, bias = model.output_weight, model.decoder_bias
        log_sums = mixture.log_normalisers(components[:count], *(stand_in or (weight, bias)))
        device = model.embedding.device
        log_probabilities = mixture.continuations(
            components,
            log_weights,
            log_sums,
            weight,
            bias,
            _padded(rows, device),
            _padded(targets, device),
        )
        return log_probabilities[: len(rows)].double().cpu().numpy()


def _padded(numbers: Numbers, device: torch.device, multiple: int = mixture.ROW_MULTIPLE) -> Tensor:
    """On the device, filled with zeros up to a multiple; what these stand for is computed and never
    asked for."""
    padding = -len(numbers) % multiple
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
