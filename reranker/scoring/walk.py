"""Log-probabilities of many candidates' tokens under one language model.

The candidates of a sentence share most of their beginnings, so they are laid out as a trie and each
shared prefix is computed once. The trie is walked level by level, and only the live level's
recurrent state is kept. Everything else is computed for many levels at a time: the first layer's
input products once for each distinct token, the other layers' products and the words for a window
of levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reranker.models import LanguageModel, mixture
from reranker.models.layer import Layer
from reranker.models.products import bulk_rows
from reranker.process.cancellation import Cancellation
from reranker.scoring.lanes import Lanes
from reranker.scoring.rows import rows_for
from reranker.scoring.trie import Numbers, Trie
from reranker.scoring.windows import StageWalk, layer_step, reader_step, window_rows, windows


class Predictors(NamedTuple):
    """The features that predict the words after some prefixes."""

    components: Tensor  # k, [rows, J, D]
    log_weights: Tensor  # log pi, [rows, J]


def edge_log_probabilities(
    model: LanguageModel,
    trie: Trie,
    cancellation: Cancellation | None = None,
    lanes: Lanes | None = None,
) -> NDArray[np.float64]:
    """Return log P(next token | prefix) of every edge, in nats, in the order ``Trie.paths`` counts
    them.

    Every sequence starts from the zero state and reads ``<eos>`` first. Words are predicted on idle
    ``lanes``, if there are any. Raises Stopped if cancelled.
    """
    decodings = []
    done = 0
    for predictors in walked(model, trie, cancellation):
        count = len(predictors.components)
        edges = slice(*np.searchsorted(trie.edge_rows, (done, done + count)))
        rows, targets = trie.edge_rows[edges] - done, trie.edge_targets[edges]
        job = partial(decoded, model, predictors, rows, targets)
        decodings.append(job() if lanes is None else lanes.spare(job))
        done += count
    parts = [part.result() if isinstance(part, Future) else part for part in decodings]
    return np.concatenate(parts) if parts else np.zeros(0)


def walked(
    model: LanguageModel, trie: Trie, cancellation: Cancellation | None
) -> Iterator[Predictors]:
    """Yield the predictors of every row of the trie, in order, a window at a time."""
    if not trie.levels:
        return
    device = model.embedding.device
    with torch.inference_mode():
        distinct, place_of = np.unique(
            np.concatenate([level.tokens for level in trie.levels]), return_inverse=True
        )
        tokens = _padded(distinct, bulk_rows(len(distinct)), device)
        embedded = functional.embedding(tokens, model.embedding)
        first, *others = (layer for layer in model.layers if isinstance(layer, Layer))
        from_tokens = first.project(embedded)
        walks = [StageWalk(state, cancellation) for state in model.initial_state(1)]
        for window in windows(trie, window_rows(device), partial(rows_for, model)):
            places, parents, real = (
                torch.from_numpy(numbers).to(device, non_blocking=True)
                for numbers in (place_of[window.rows], window.parents, window.real)
            )
            outputs = [embedded[places]] if 0 in model.decoded_layers else [embedded]
            stages = iter(walks)
            hidden = next(stages).through(window, parents, layer_step(first, from_tokens[places]))
            outputs.append(hidden)
            for layer in others:
                step = layer_step(layer, layer.project(hidden))
                hidden = next(stages).through(window, parents, step)
                outputs.append(hidden)
            if model.reader is not None:
                step = reader_step(model.reader, hidden, tokens[places])
                gathered = next(stages).through(window, parents, step)
                outputs.append(model.reader.read(gathered))
            mixed = model.mixed([outputs[layer] for layer in model.decoded_layers])
            yield Predictors(*(part.index_select(0, real) for part in mixed))


def decoded(
    model: LanguageModel,
    predictors: Predictors,
    rows: Numbers,
    targets: Numbers,
    stand_in: tuple[Tensor, Tensor] | None = None,
) -> NDArray[np.float64]:
    """Return log P of ``targets`` [N] after ``rows`` [N] of the predictors, in nats; normalised
    over ``stand_in``, a weight [V', D] and a bias [V'], in place of the model's own, if given."""
    if not len(rows):
        return np.zeros(0)
    with torch.inference_mode():
        components, log_weights = predictors
        weight, bias = model.output_weight, model.decoder_bias
        log_probabilities = mixture.continuations(
            components,
            log_weights,
            mixture.log_normalisers(components, *(stand_in or (weight, bias, model.rounded))),
            weight,
            bias,
            _padded(rows, bulk_rows(len(rows)), weight.device),
            _padded(targets, bulk_rows(len(targets)), weight.device),
        )
        return log_probabilities[: len(rows)].double().cpu().numpy()


def _padded(numbers: Numbers, size: int, device: torch.device) -> Tensor:
    """Return the rows on the device, padded with zeros; results for the padding are never used."""
    whole = functional.pad(torch.from_numpy(numbers), (0, size - len(numbers)))
    return whole.to(device, non_blocking=True)
